// launch/program/planning/link_table.h -- every link of a grid as `penstock profile
// --links` shows it: message sizes down, as the OSU micro-benchmarks do.
#pragma once

#include <string>

#include "runtime/planning/plan/profile.h"

namespace penstock {

// One table each for links between stages and between replicas, within a node and between nodes,
// where there are such links: their number, the least, median and greatest one-way microseconds by
// message size, the median's GB/s, and the slowest pair of ranks. "" without links.
[[nodiscard]] std::string link_table(const Profile& profile);

}  // namespace penstock
