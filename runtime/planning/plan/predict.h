// runtime/planning/plan/predict.h -- predict(): how long a step would take and how much memory each
// rank would need, without starting a rank. Pure: simulates the schedule that the engine would run
// with the costs of the layers.
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

// Bytes of one rank's device, by the purposes of kernels/memory/memory.h. Activations are all that
// passes between layers and stages, message buffers included.
struct RankMemory {
  int64_t parameters = 0, gradients = 0, optimizer = 0;
  int64_t activations = 0, workspace = 0, communication = 0;
  [[nodiscard]] int64_t total() const {
    return parameters + gradients + optimizer + activations + workspace + communication;
  }
  // The bytes of one copy in host memory, as a checkpoint written during training takes, and each
  // copy for checkpoint.partner: one replica's share of the weights and of the optimizer's state.
  // `shared`: `optimizer` is that share already (optimizer.sharded).
  [[nodiscard]] int64_t copy(int replicas, bool shared) const {
    return parameters / replicas + (shared ? optimizer : optimizer / replicas);
  }
};

struct Prediction {
  double step_s = 0;                   // a step that is not audited
  double mean_step_s = 0;              // over steps that are audited and steps that are not
  double samples_per_s = 0;            // of the mean step
  double bubble = 0;                   // share of the ranks' time without computation, 0 to 1
  double exposed_communication_s = 0;  // of a step, not hidden behind computation
  double audited_step_s = 0;           // a step that is audited; 0: none is
  std::vector<RankMemory> memory;      // peaks, by rank of one pipeline
  // The timeline of one pipeline; where nodes cut up the replicas' pipelines differently, that of
  // the slowest.
  Timeline timeline;
  ByteCurve bytes;  // activations in use, for each instruction of the timeline

  // The rank that needs the most memory, and what it needs.
  [[nodiscard]] int fullest_rank() const;
  [[nodiscard]] int64_t fullest_bytes() const { return memory[fullest_rank()].total(); }
};

// The schedule of a training step of that candidate, lowered and proved, with an Audit on each rank
// where steps are audited. `skips` are the pairs of stages that its split makes of the network's
// skips (stage_skips()). Throws std::invalid_argument
// for a schedule that the sizes do not fit.
[[nodiscard]] Schedule schedule_of(const Arrangement& candidate,
                                   const std::vector<Skip>& skips = {});

// The arguments from which that schedule is made.
[[nodiscard]] Recipe recipe_of(const Arrangement& candidate, const std::vector<Skip>& skips = {});

// The costs for simulate(), without PipelineCosts::node_of_rank and replica_link. Requirements as
// for predict().
[[nodiscard]] PipelineCosts step_costs(const Arrangement& candidate, const Schedule& schedule,
                                       const ModelCosts& costs, const Cluster& cluster);

// All ranks of that candidate on the cluster's nodes, which have one network card each.
// Requirements as for predict().
[[nodiscard]] Job job_of(const Arrangement& candidate, const ModelCosts& costs,
                         const Cluster& cluster);

// The rules of that cluster's links, for a lowered schedule. Where sends wait, finds how many
// messages may be under way, by one replay or a few.
[[nodiscard]] TransportRules transport_of(const Cluster& cluster, const Schedule& schedule);

// Predicts the memory alone, or time and memory. `costs` must be of the candidate's micro-batch
// size, `schedule` must be its schedule_of(), which is made where it is not given, and
// candidate.split must add up to the layers. Throws std::invalid_argument otherwise.
[[nodiscard]] std::vector<RankMemory> predict_memory(const Arrangement& candidate,
                                                     const Schedule& schedule,
                                                     const ModelCosts& costs,
                                                     const TransportRules& rules = {});
[[nodiscard]] Prediction predict(const Arrangement& candidate, const Schedule& schedule,
                                 const ModelCosts& costs, const Cluster& cluster);
[[nodiscard]] Prediction predict(const Arrangement& candidate, const ModelCosts& costs,
                                 const Cluster& cluster);

}  // namespace penstock
