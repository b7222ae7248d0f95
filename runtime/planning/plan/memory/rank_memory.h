// runtime/planning/plan/memory/rank_memory.h -- predict_memory(): how much memory each rank of a
// pipeline would need at most, by what it is for, without starting a rank. predict() (predict.h)
// adds time.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "runtime/planning/plan/arrangement.h"
#include "runtime/planning/plan/layer_cost.h"
#include "runtime/planning/plan/memory/checkpoint_memory.h"
#include "runtime/planning/schedule/proof/replay.h"
#include "runtime/planning/schedule/schedule.h"
#include "runtime/planning/schedule/timing/memory.h"

namespace penstock {

// The memory of one rank, in bytes: the one answer that plans, headlines, sweeps, dry runs and
// closing tables give. The first six members are peaks of its device by what they are for (the
// Purpose of kernels/memory/memory.h), evaluations included. Activations include what forwards keep
// for backwards and the tensors and buffers of messages between stages.
struct RankMemory {
  int64_t parameters = 0, gradients = 0, optimizer = 0;
  int64_t activations = 0, workspace = 0, communication = 0;
  // The part of `optimizer` that is copies by which an update can be taken back
  // (optimizer.barrier = false). They are no state of the run: nothing else copies them.
  int64_t undo = 0;
  SavedBytes saved = {};               // what each replica writes of a checkpoint
  std::vector<int64_t> snapshot = {};  // of that, what it has copies of in the host's memory
  bool own_memory = false;             // of the device: then the copies are not in it

  // The device's bytes without copies for checkpoints.
  [[nodiscard]] int64_t of_tensors() const {
    return parameters + gradients + optimizer + activations + workspace + communication;
  }
  // All bytes of the device's memory that the rank of that replica needs.
  [[nodiscard]] int64_t total(int replica) const {
    return of_tensors() + (own_memory || snapshot.empty() ? 0 : snapshot[replica]);
  }
  // The bytes of the replica that needs the most.
  [[nodiscard]] int64_t total() const {
    return of_tensors() + (own_memory || snapshot.empty() ? 0 : std::ranges::max(snapshot));
  }
  // The bytes of one copy of the rank's state, of the replica that has the most: of one replica's
  // share of the weights and of the optimizer's state. checkpoint.partner takes such copies.
  [[nodiscard]] int64_t copy() const { return saved.all.empty() ? 0 : std::ranges::max(saved.all); }
};

// The memory of each rank of one pipeline. `costs`, `schedule` and the candidate's split must be as
// predict() wants them, `rules` those of transport_of() (predict.h). `curve`, unless null, is set
// to the bytes of activations in use over the step. Whether the run lasts long enough for a
// checkpoint by the clock (Upkeep::checkpoint_s) is not known here: predict() sees to that. Throws
// std::invalid_argument as predict() does.
[[nodiscard]] std::vector<RankMemory> predict_memory(const Arrangement& candidate,
                                                     const Schedule& schedule,
                                                     const ModelCosts& costs,
                                                     const TransportRules& rules = {},
                                                     ByteCurve* curve = nullptr);

// A sentence about the rank that lacks the most memory, such as "needs 95.23 GiB on rank 0, 80 GiB
// there"; empty where every rank keeps its limit. Both lists are by rank of one pipeline; a limit
// of 0 is none.
[[nodiscard]] std::string lack_of_memory(const std::vector<RankMemory>& memory,
                                         const std::vector<int64_t>& limits);
// The same with one limit for all ranks.
[[nodiscard]] std::string lack_of_memory(const std::vector<RankMemory>& memory,
                                         int64_t memory_bytes);

}  // namespace penstock
