// runtime/data/templates/functions/filters.h -- the filters and tests that templates may use: all
// of Jinja's that can mean something for a text, but those that make HTML pages.
#pragma once

#include <optional>
#include <string>

#include "runtime/data/templates/functions/arguments.h"

namespace penstock::jinja {

// of | name(with), and `of is name(with)`. All throw Error(Input) naming what is not supported, or
// is used in a way that is not.
[[nodiscard]] Value apply_filter(Budget& budget, const std::string& name, const Value& of,
                                 const Arguments& with);
[[nodiscard]] bool passes_test(Budget& budget, const std::string& name, const Value& of,
                               const Arguments& with);

// of | name(with) for the filters of texts, and of lists; nothing where `name` is none of those.
[[nodiscard]] std::optional<Value> apply_text_filter(Budget& budget, const std::string& name,
                                                     const Value& of, const Arguments& with);
[[nodiscard]] std::optional<Value> apply_list_filter(Budget& budget, const std::string& name,
                                                     const Value& of, const Arguments& with);

}  // namespace penstock::jinja
