// launch/program/planning/plan_table.h -- prints the result of `penstock plan` as a table for the
// terminal.
#pragma once

#include <cstddef>
#include <string>

#include "runtime/planning/plan/plan.h"

namespace penstock {

// The `top` fastest candidates, one a line; then those that do not fit or were left out, grouped by
// reason.
[[nodiscard]] std::string plan_table(const Plan& plan, size_t top);

// The number of layers of each stage, with equal neighbours counted: "4 8x6 4" is 4, then 8 six
// times, then 4.
[[nodiscard]] std::string short_split(const std::vector<int>& split);

}  // namespace penstock
