// launch/program/start/binding.h -- which cores each rank is bound to. Pure. Changes where threads
// run, never how many there are, and so no result.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "launch/program/threads.h"

namespace penstock {

// By world rank, the cores of each in their order on the machine; empty: the rank is left as it is.
// `how` is run.bind:
//   none   nothing is done
//   auto   a rank that shares no core with another keeps those it has, with memory beside them.
//          Others are left alone: the cores may be those of other jobs, too
//   split  ranks that have the same cores get an equal part each, where there is at least one for
//          each; ranks that have cores of their own are as with auto
// `ranks` by world rank.
[[nodiscard]] std::vector<std::vector<int>> cores_to_bind(const std::string& how,
                                                          std::span<const RankCores> ranks);

}  // namespace penstock
