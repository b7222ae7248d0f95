// launch/program/planning/profile_table.h -- prints a profile (measured times of layers and links)
// as a table for the terminal.
#pragma once

#include <string>

#include "runtime/planning/plan/profile.h"

namespace penstock {

// A line for each layer, where equal neighbours share one; then the sums, and the links.
[[nodiscard]] std::string profile_table(const Profile& profile);

}  // namespace penstock
