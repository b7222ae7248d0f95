// launch/program/planning/link_table.h -- the table of `penstock profile --links`: the times of all
// links of a grid, a row for each message size, as the OSU micro-benchmarks print them.
#pragma once

#include <string>

#include "runtime/planning/plan/profile.h"

namespace penstock {

// One table each for links between stages and between replicas, within a node and between nodes,
// where there are such links: their number, the least, median and greatest one-way microseconds by
// message size, the median's GB/s, and the slowest pair of ranks. "" without links.
[[nodiscard]] std::string link_table(const Profile& profile);

}  // namespace penstock
