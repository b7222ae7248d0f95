// runtime/engine/training/replan/carry.h -- carry_state(): carries all that ranks keep from step to
// step (weights, states of the optimizer, averages, statistics) from one pipeline to another that
// splits the same network in another way, from memory to memory.
#pragma once

#include <cstdint>

#include "runtime/network/stage/state_table.h"
#include "runtime/system/comm/station.h"

namespace penstock {

// Overwrites all tensors of this rank's entries `to` with the elements that entries `from` have on
// some rank. Collective over all ranks, whose devices' memory the host can address. Both pipelines
// have their weights whole (Pipeline::await_weights()), and their entries have the optimizer's
// states and the averages. Returns how many bytes this rank has received from others. Throws
// Error(Internal) where the two are not of one network, Error(Peer) where a message fails.
int64_t carry_state(StateRange from, StateRange to, const Station& station);

}  // namespace penstock
