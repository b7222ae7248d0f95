// launch/program/planning/profile_table.h -- a profile as a table for the terminal.
#pragma once

#include <string>

#include "runtime/planning/plan/profile.h"

namespace penstock {

// A line for each layer, equal neighbours together, the sums, and the links.
[[nodiscard]] std::string profile_table(const Profile& profile);

}  // namespace penstock
