// launch/program/planning/link_table.h -- every link of a grid as `penstock profile
// --links` shows it: message sizes down, as the OSU micro-benchmarks do.
#pragma once

#include <string>

#include "runtime/planning/plan/profile.h"

namespace penstock {

// For stages and for replicas, within a node and between nodes, as far as there are such links: how
// many, one way, the least, the median and the most microseconds by size, GB/s of the median, and
// the slowest pair of ranks. "" without links.
[[nodiscard]] std::string link_table(const Profile& profile);

}  // namespace penstock
