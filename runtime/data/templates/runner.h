// runtime/data/templates/runner.h -- run_template(): runs a chat template (a program in the
// language Jinja) that parse_template() has parsed, and returns the text that it writes.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "runtime/data/templates/syntax/parser.h"

namespace penstock::jinja {

// `whole`: the tree of the template. `names`: an object, whose members are the variables that the
// template reads, such as "messages". `date`: today's, as "2024-07-26"; empty: not known. Throws
// Error(Input) naming the line where the template itself raises an error (raise_exception), uses
// what is not supported or what Python would refuse, or takes more memory or work than a Budget
// allows.
[[nodiscard]] std::string run_template(const Node& whole, const nlohmann::ordered_json& names,
                                       const std::string& date);

}  // namespace penstock::jinja
