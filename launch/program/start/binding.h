// launch/program/start/binding.h -- decides which processor cores each rank is bound to (run.bind),
// by a rule over the cores that all ranks may use. Pure; Machine (machine.h) does the binding.
// Binding changes where threads run and never how many there are, so it changes no result.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "launch/program/threads.h"

namespace penstock {

// The cores of each rank, by world rank, in their order on the machine; empty: the rank is not
// bound. `ranks`: by world rank. `how` is run.bind:
//   none   nothing is bound
//   auto   a rank that shares no core with another is bound to the cores it has, and its memory to
//          the NUMA nodes beside them. Ranks that share cores are not bound, since other jobs may
//          use these cores, too
//   split  ranks that all have the same cores get an equal part each, where that is at least one
//          core; ranks that share no core are bound as with auto
[[nodiscard]] std::vector<std::vector<int>> cores_to_bind(const std::string& how,
                                                          std::span<const RankCores> ranks);

}  // namespace penstock
