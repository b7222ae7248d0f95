// launch/program/start/binding.h -- which cores each rank is bound to. Pure. Binding changes where
// threads run, never how many there are, and so no result.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "launch/program/threads.h"

namespace penstock {

// By world rank, the cores of each in their order on the machine; empty: the rank is left as it is.
// `how` is run.bind:
//   none   nothing is done
//   auto   a rank that shares no core with another is bound to the cores it has, and its memory to
//          the NUMA nodes beside them. Ranks that share cores are left as they are: other jobs may
//          use these cores, too
//   split  ranks that have the same cores get an equal part each, where there is at least one core
//          for each; ranks that share no core are bound as with auto
// `ranks` by world rank.
[[nodiscard]] std::vector<std::vector<int>> cores_to_bind(const std::string& how,
                                                          std::span<const RankCores> ranks);

}  // namespace penstock
