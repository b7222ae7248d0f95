// runtime/planning/plan/memory/pass_memory.h -- PassMemory: the bytes of activations that each rank
// of a pipeline has in use at most, in a training step and in a pass over validation data.
//
// It adds what skips between layers take to the sums of stage_costs.h and walks the programs with
// byte_curve(). For messages that MPI reads where they are it is a bound from above.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/planning/plan/arrangement.h"
#include "runtime/planning/plan/layer_cost.h"
#include "runtime/planning/plan/stages/stage_costs.h"
#include "runtime/planning/schedule/proof/replay.h"
#include "runtime/planning/schedule/schedule.h"
#include "runtime/planning/schedule/timing/memory.h"

namespace penstock {

class PassMemory {
 public:
  // The arguments are those of predict_memory() (rank_memory.h) and must outlive this.
  PassMemory(const Arrangement& candidate, const Schedule& schedule, const ModelCosts& costs,
             const TransportRules& rules);
  PassMemory(const PassMemory&) = delete;
  PassMemory& operator=(const PassMemory&) = delete;

  // The result is by rank. `curve`, unless null, is set to the bytes in use over the step.
  [[nodiscard]] std::vector<int64_t> training(ByteCurve* curve) const;
  // The result is by rank, with the rank's stages and the order of its forwards in training; 0
  // where the run has no evaluations. What a layer needs is taken to grow as its micro-batch does.
  [[nodiscard]] std::vector<int64_t> evaluation() const;

 private:
  // Bytes of the skips from one stage to another; to the stage from its neighbour; of all that
  // leave a stage; of all that enter it.
  [[nodiscard]] int64_t between(int from, int to) const;
  [[nodiscard]] int64_t with_tuple(int stage) const;
  [[nodiscard]] int64_t leaving(int stage) const;
  [[nodiscard]] int64_t entering(int stage) const;
  [[nodiscard]] std::vector<int64_t> messages() const;  // by Schedule::skips
  // An audit keeps what a stage was given for a micro-batch until that is repeated; the stage of
  // the rank that was given the most counts. Repeating it takes audit_peak() meanwhile.
  [[nodiscard]] int64_t given(int stage) const;
  [[nodiscard]] int64_t kept_for_audit(int rank) const;
  [[nodiscard]] int64_t audit_peak(int stage, const StageMemory& memory) const;

  const Arrangement& candidate_;
  const Schedule& schedule_;
  const ModelCosts& costs_;
  const TransportRules rules_;
  std::vector<LayerCost> with_skips_;  // the layers, where the network has skips; else empty
  StageLayers stages_;                 // views of these, or of the costs
};

}  // namespace penstock
