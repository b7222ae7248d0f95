// runtime/data/templates/runner.h -- runs a parsed template.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "runtime/data/templates/syntax/parser.h"

namespace penstock::jinja {

// What the template `whole` writes, given `names`, an object; `date` is today's, or empty. Throws
// Error(Input) naming the line for what the template itself raises (raise_exception), what is not
// supported, and what takes more than a Budget allows; nothing is guessed at.
[[nodiscard]] std::string run_template(const Node& whole, const nlohmann::ordered_json& names,
                                       const std::string& date);

}  // namespace penstock::jinja
