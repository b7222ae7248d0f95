// runtime/planning/plan/predict.h -- how long a step would take and what it would need, without
// starting a rank. Pure: the same schedule, lowered and verified as the engine does it, is
// simulated with the costs of the layers.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/planning/plan/arrangement.h"
#include "runtime/planning/plan/layer_cost.h"
#include "runtime/planning/replay/job.h"
#include "runtime/planning/schedule/recipe.h"
#include "runtime/planning/schedule/schedule.h"
#include "runtime/planning/schedule/timing/memory.h"
#include "runtime/planning/schedule/timing/timeline.h"

namespace penstock {

// Bytes, in the engine's accounts (kernels/memory/memory.h). Activations are all that passes
// between layers and stages, message buffers included.
struct RankMemory {
  int64_t parameters = 0, gradients = 0, optimizer = 0;
  int64_t activations = 0, workspace = 0, communication = 0;
  [[nodiscard]] int64_t total() const {
    return parameters + gradients + optimizer + activations + workspace + communication;
  }
  // Host memory besides that, once a checkpoint was written while training went on, and each copy
  // for checkpoint.partner: one replica's share, of so many, of the weights and of the optimizer's
  // state. `shared` (Arrangement::shared): `optimizer` is that share already.
  [[nodiscard]] int64_t copy(int replicas, bool shared) const {
    return parameters / replicas + (shared ? optimizer : optimizer / replicas);
  }
};

struct Prediction {
  double step_s = 0;
  double samples_per_s = 0;
  double bubble = 0;  // bubble_share() of the timeline
  double exposed_communication_s = 0;
  double audited_step_s = 0;       // of a step that is audited; 0 where the schedule has no Audit
  std::vector<RankMemory> memory;  // peaks, by rank of one pipeline
  // The timeline of one pipeline; where nodes cut up replicas differently, of the slowest.
  Timeline timeline;
  ByteCurve bytes;  // of activations, beside the timeline

  [[nodiscard]] int fullest_rank() const;
  [[nodiscard]] int64_t fullest_bytes() const { return memory[fullest_rank()].total(); }
};

// The training step of that candidate, lowered and proved (recipe.h); its split matters for `skips`
// (stage_skips()) alone. Throws std::invalid_argument as training_schedule() does.
[[nodiscard]] Schedule schedule_of(const Arrangement& candidate,
                                   const std::vector<Skip>& skips = {});

[[nodiscard]] Recipe recipe_of(const Arrangement& candidate, const std::vector<Skip>& skips = {});

// The costs for simulate(), without the ranks that share a node and the replicas' link. Arguments
// and errors as predict()'s.
[[nodiscard]] PipelineCosts step_costs(const Arrangement& candidate, const Schedule& schedule,
                                       const ModelCosts& costs, const Cluster& cluster);

// All ranks of that candidate on the cluster's nodes, which have one network card each. Errors as
// predict()'s.
[[nodiscard]] Job job_of(const Arrangement& candidate, const ModelCosts& costs,
                         const Cluster& cluster);

// The rules of that cluster's links, for a lowered schedule. Where sends wait, finding the window
// takes a replay or a few.
[[nodiscard]] TransportRules transport_of(const Cluster& cluster, const Schedule& schedule);

// `costs` must be those of the candidate's micro-batch size, `schedule` its schedule_of(), and its
// split one that adds up to the layers. Throws std::invalid_argument otherwise.
[[nodiscard]] std::vector<RankMemory> predict_memory(const Arrangement& candidate,
                                                     const Schedule& schedule,
                                                     const ModelCosts& costs,
                                                     const TransportRules& rules = {});
[[nodiscard]] Prediction predict(const Arrangement& candidate, const Schedule& schedule,
                                 const ModelCosts& costs, const Cluster& cluster);
[[nodiscard]] Prediction predict(const Arrangement& candidate, const ModelCosts& costs,
                                 const Cluster& cluster);

}  // namespace penstock
