// runtime/data/templates/functions/arguments.h -- Arguments: what a function, method, filter or
// test is called with.
#pragma once

#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "runtime/data/templates/values/value.h"

namespace penstock::jinja {

struct Arguments {
  std::vector<Value> values = {};
  std::vector<std::pair<std::string, Value>> named = {};

  [[nodiscard]] bool none() const { return values.empty() && named.empty(); }
};

// The arguments in the order of `parameters`, as Python binds them; null: not given. Throws
// Error(Input) for an argument that no parameter takes; `of` names what was called: "the filter
// \"join\"".
[[nodiscard]] std::vector<const Value*> bound(const Arguments& with,
                                              std::initializer_list<const char*> parameters,
                                              const std::string& of);

// The text that `value` is. Throws Error(Input) naming `of` where it is none, or null.
[[nodiscard]] const std::string& text_of(const Value* value, const std::string& of);

}  // namespace penstock::jinja
