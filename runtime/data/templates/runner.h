// runtime/data/templates/runner.h -- a template, run.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "runtime/data/templates/syntax/parser.h"

namespace penstock::jinja {

// What the template writes, given these names; `date` is today's, or empty. Throws Error(Input)
// naming the line: what the template itself raises (raise_exception), what it needs and is not
// supported, and what takes more than a Budget has; nothing is guessed at.
[[nodiscard]] std::string run_template(const Node& whole, const nlohmann::ordered_json& names,
                                       const std::string& date);

}  // namespace penstock::jinja
