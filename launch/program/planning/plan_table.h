// launch/program/planning/plan_table.h -- a plan for people.
#pragma once

#include <cstddef>
#include <string>

#include "runtime/planning/plan/plan.h"

namespace penstock {

// The `top` fastest, one a line; then what was left out or does not fit, grouped by reason.
[[nodiscard]] std::string plan_table(const Plan& plan, size_t top);

// "4 8x6 4": layers per stage, equal neighbours together.
[[nodiscard]] std::string short_split(const std::vector<int>& split);

}  // namespace penstock
