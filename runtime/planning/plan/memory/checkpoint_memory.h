// runtime/planning/plan/memory/checkpoint_memory.h -- how much memory of the host each replica of a
// rank needs for checkpoints: copies that are written while training goes on, and states of the
// optimizer that replicas share, which one of them puts together.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/planning/plan/arrangement.h"
#include "runtime/planning/plan/layer_cost.h"

namespace penstock {

// Bytes, by replica, of the shards that this replica writes.
struct SavedBytes {
  std::vector<int64_t> all;     // weights, buffers and states of the optimizer
  std::vector<int64_t> states;  // of these the states
};

// `layers`: those of all stages of a rank, in order. A layer has one shard of weights and one of
// states, and replicas divide them as the checkpoint writer does (writers_of() in
// runtime/records/checkpoint/writer/shards.h; it would cut a layer of more than 1 GiB further).
[[nodiscard]] SavedBytes saved_bytes(const std::vector<const LayerCost*>& layers, int replicas);

// The part of `saved` that the ranks hold copies of. `step_s`: seconds of a step, by which a run is
// taken to last long enough for a checkpoint on the way, or not: where it may be a few times as
// long as that, it is; 0: not known, and only Upkeep::checkpoint_steps counts.
[[nodiscard]] std::vector<int64_t> snapshot_bytes(const SavedBytes& saved,
                                                  const Arrangement& candidate, double step_s);

}  // namespace penstock
