// runtime/data/jinja/runner.h -- a template, run.
#pragma once

#include <string>

#include "runtime/data/jinja/parser.h"
#include "runtime/data/jinja/value.h"

namespace penstock::jinja {

// What the template writes, given these names. Throws Error(Input): what the template itself raises
// (raise_exception), and what it needs and is not supported; nothing is guessed at.
[[nodiscard]] std::string run_template(const Node& whole, const Map& names);

}  // namespace penstock::jinja
