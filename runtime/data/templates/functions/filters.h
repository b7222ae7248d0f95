// runtime/data/templates/functions/filters.h -- the filters (`value | upper`) and tests (`value is
// defined`) that templates may use: those of Jinja, except those that are for making HTML pages.
//
// `budget` is that of the template's run (budget.h): memory of results and work count in it, and
// Error(Input) is thrown when it is used up.
#pragma once

#include <optional>
#include <string>

#include "runtime/data/templates/functions/arguments.h"

namespace penstock::jinja {

// The values of `of | name(with)` and of `of is name(with)`. All functions here throw Error(Input)
// naming the filter or test if it is not supported, or is used in a way that is not.
[[nodiscard]] Value apply_filter(Budget& budget, const std::string& name, const Value& of,
                                 const Arguments& with);
[[nodiscard]] bool passes_test(Budget& budget, const std::string& name, const Value& of,
                               const Arguments& with);

// The two parts of apply_filter(): filters of texts and filters of lists. nullopt: `name` is none
// of that part.
[[nodiscard]] std::optional<Value> apply_text_filter(Budget& budget, const std::string& name,
                                                     const Value& of, const Arguments& with);
[[nodiscard]] std::optional<Value> apply_list_filter(Budget& budget, const std::string& name,
                                                     const Value& of, const Arguments& with);

}  // namespace penstock::jinja
