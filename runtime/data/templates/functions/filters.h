// runtime/data/templates/functions/filters.h -- the filters and tests that templates may use: all
// of Jinja's that can mean something for a text, but those that make HTML pages.
#pragma once

#include <optional>
#include <string>

#include "runtime/data/templates/functions/arguments.h"

namespace penstock::jinja {

// All throw Error(Input) naming what is not supported, or used in a way that is not.
[[nodiscard]] Value apply_filter(Budget& budget, const std::string& name, const Value& of,
                                 const Arguments& with);
[[nodiscard]] bool passes_test(Budget& budget, const std::string& name, const Value& of,
                               const Arguments& with);

// What the two families of filters know; nothing where the name is none of them.
[[nodiscard]] std::optional<Value> apply_text_filter(Budget& budget, const std::string& name,
                                                     const Value& of, const Arguments& with);
[[nodiscard]] std::optional<Value> apply_list_filter(Budget& budget, const std::string& name,
                                                     const Value& of, const Arguments& with);

}  // namespace penstock::jinja
