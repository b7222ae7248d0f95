// runtime/data/jinja/builtins.h -- the filters, tests and methods that templates may use.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "runtime/data/jinja/value.h"

namespace penstock::jinja {

struct Arguments {
  std::vector<Value> values;
  std::vector<std::pair<std::string, Value>> named = {};
};

// All throw Error(Input) naming what is not supported, or used in a way that is not.
[[nodiscard]] Value apply_filter(const std::string& name, const Value& of, const Arguments& with);
[[nodiscard]] bool passes_test(const std::string& name, const Value& of, const Arguments& with);
[[nodiscard]] Value call_method(const Value& of, const std::string& name, const Arguments& with);

// `text` without the characters at its ends that are in `which`; empty: white space of Unicode.
[[nodiscard]] std::string stripped(const std::string& text, const std::string& which, bool left,
                                   bool right);

}  // namespace penstock::jinja
