// runtime/data/templates/functions/arguments.h -- Arguments: the values with which a template calls
// a function, method, filter or test; and helpers that read them.
#pragma once

#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "runtime/data/templates/values/value.h"

namespace penstock::jinja {

// f(1, 2, a=3) has the values 1 and 2, and named a = 3.
struct Arguments {
  std::vector<Value> values = {};
  std::vector<std::pair<std::string, Value>> named = {};

  [[nodiscard]] bool none() const { return values.empty() && named.empty(); }
};

// For each of `parameters`, names in order, the argument that Python would bind to it, a pointer
// into `with`; null: it was not given. Throws Error(Input) for an argument that no parameter takes;
// `of` says in the message what was called: "the filter \"join\"".
[[nodiscard]] std::vector<const Value*> bound(const Arguments& with,
                                              std::initializer_list<const char*> parameters,
                                              const std::string& of);

// The text in `value`. Throws Error(Input) naming `of` if `value` is null or no text.
[[nodiscard]] const std::string& text_of(const Value* value, const std::string& of);

}  // namespace penstock::jinja
