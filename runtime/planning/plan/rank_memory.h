// runtime/planning/plan/rank_memory.h -- predict_memory(): how much memory each rank of a pipeline
// would need at most, by what it is for, without starting a rank. predict() (predict.h) adds time.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/planning/plan/arrangement.h"
#include "runtime/planning/plan/layer_cost.h"
#include "runtime/planning/schedule/proof/replay.h"
#include "runtime/planning/schedule/schedule.h"
#include "runtime/planning/schedule/timing/memory.h"

namespace penstock {

// Peak bytes of one rank's device, by what they are for (the Purpose of kernels/memory/memory.h).
// Activations include what forwards keep for backwards and the tensors and buffers of messages
// between stages.
struct RankMemory {
  int64_t parameters = 0, gradients = 0, optimizer = 0;
  int64_t activations = 0, workspace = 0, communication = 0;
  // The part of `optimizer` that is copies by which an update can be taken back
  // (optimizer.barrier = false). They are no state of the run: nothing else copies them.
  int64_t undo = 0;
  [[nodiscard]] int64_t total() const {
    return parameters + gradients + optimizer + activations + workspace + communication;
  }
  // The bytes of one copy of the rank's state in host memory: one replica's share of the weights
  // and of the optimizer's state. A checkpoint that is written while training goes on takes one
  // such copy, and checkpoint.partner takes them too. `shared`: `optimizer` is one replica's share
  // already (optimizer.sharded), so that it is not divided by `replicas`.
  [[nodiscard]] int64_t copy(int replicas, bool shared) const {
    const int64_t state = optimizer - undo;
    return parameters / replicas + (shared ? state : state / replicas);
  }
};

// The memory of each rank of one pipeline. `costs`, `schedule` and the candidate's split must be as
// predict() wants them, `rules` those of transport_of() (predict.h). `curve`, unless null, is set
// to the bytes of activations in use over the step. Throws std::invalid_argument as predict() does.
[[nodiscard]] std::vector<RankMemory> predict_memory(const Arrangement& candidate,
                                                     const Schedule& schedule,
                                                     const ModelCosts& costs,
                                                     const TransportRules& rules = {},
                                                     ByteCurve* curve = nullptr);

}  // namespace penstock
