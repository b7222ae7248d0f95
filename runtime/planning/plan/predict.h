// runtime/planning/plan/predict.h -- predict(): how long a training step of one Arrangement
// (arrangement.h) would take and how much memory each rank would need, computed without starting a
// rank.
//
// It makes the schedule that the engine would run, sums the costs of the layers for each stage
// (layer_cost.h, stage_costs.h), and simulates a step with them; where ranks are on several nodes
// it replays the step of the whole job, in which they share network cards. `penstock plan`,
// forecasts of runs and sweeps all use it. Nothing here has side effects.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/planning/plan/arrangement.h"
#include "runtime/planning/plan/layer_cost.h"
#include "runtime/planning/plan/memory/rank_memory.h"
#include "runtime/planning/replay/job.h"
#include "runtime/planning/schedule/recipe.h"
#include "runtime/planning/schedule/schedule.h"
#include "runtime/planning/schedule/timing/memory.h"
#include "runtime/planning/schedule/timing/timeline.h"

namespace penstock {

// Seconds of a training step.
struct StepSeconds {
  double plain_s = 0;    // of a step that is not audited
  double audited_s = 0;  // of a step with an audit (schedule/audits.h); plain_s where none has one
  double mean_s = 0;     // the mean over audited and other steps

  // The same where a step that is not audited takes `seconds`, and an audit as long as here.
  [[nodiscard]] StepSeconds with_plain(double seconds) const {
    return {seconds, seconds + (audited_s - plain_s), seconds + (mean_s - plain_s)};
  }
};

struct Prediction {
  // Where ranks are on several nodes, those of a replay (replay_step.h) of all replicas, whose
  // ranks share network cards; else of a simulation of the slowest replica.
  StepSeconds step;
  double samples_per_s = 0;  // of the mean step
  double bubble = 0;         // the share of ranks' time in which they do not compute, 0 to 1
  double exposed_communication_s = 0;  // seconds of a step that communication adds to it
  std::vector<RankMemory> memory;      // by rank of one pipeline
  // When each instruction of one pipeline runs, as if it shared no network card: shorter than
  // `step` where cards make it wait. Where replicas lie on nodes in different ways, it is that of
  // the slowest replica.
  Timeline timeline;
  ByteCurve bytes;  // bytes of activations in use at each instruction of `timeline`

  // The rank of a pipeline that needs the most memory, and the bytes that it needs.
  [[nodiscard]] int fullest_rank() const;
  [[nodiscard]] int64_t fullest_bytes() const { return memory[fullest_rank()].total(); }
};

// The schedule of a training step of `candidate`, with messages and proved correct, and with an
// Audit on each rank where steps are audited. `skips` are the pairs of stages that skip connections
// join (stage_skips.h). Throws std::invalid_argument for a schedule that cannot have the
// candidate's sizes.
[[nodiscard]] Schedule schedule_of(const Arrangement& candidate,
                                   const std::vector<Skip>& skips = {});

// The Recipe (schedule/recipe.h) from which schedule_of() makes its schedule.
[[nodiscard]] Recipe recipe_of(const Arrangement& candidate, const std::vector<Skip>& skips = {});

// The functions below require that `costs` are for the candidate's micro-batch size, that
// `schedule` is schedule_of() the candidate, and that candidate.split adds up to the number of
// layers. They throw std::invalid_argument otherwise.

// What simulate() needs, but for PipelineCosts::node_of_rank and replica_link, which depend on the
// replica: they stay empty. Where ranks are unlike (Cluster::devices) each stage takes what it
// takes in the slowest replica.
[[nodiscard]] PipelineCosts step_costs(const Arrangement& candidate, const Schedule& schedule,
                                       const ModelCosts& costs, const Cluster& cluster);

// All ranks of all replicas on the cluster's nodes, with the network cards that the ranks of a node
// share, for replay_step() (runtime/planning/replay/replay_step.h). The second form makes the
// schedule itself.
[[nodiscard]] Job job_of(const Arrangement& candidate, const Schedule& schedule,
                         const ModelCosts& costs, const Cluster& cluster);
[[nodiscard]] Job job_of(const Arrangement& candidate, const ModelCosts& costs,
                         const Cluster& cluster);

// The rules by which sends wait on that cluster's links. Where they wait (Cluster::sends_wait),
// finds the smallest window of messages with which `schedule`, which must be lowered, does not
// deadlock.
[[nodiscard]] TransportRules transport_of(const Cluster& cluster, const Schedule& schedule);

// Time and memory. Where replicas are unlike the step is that of the slowest, and the memory of
// each rank that of the replica that needs the most. A replay has updates behind a barrier: without
// one (Arrangement::barrier) its cards delay a step as much as with it. The second form makes the
// schedule itself.
[[nodiscard]] Prediction predict(const Arrangement& candidate, const Schedule& schedule,
                                 const ModelCosts& costs, const Cluster& cluster);
[[nodiscard]] Prediction predict(const Arrangement& candidate, const ModelCosts& costs,
                                 const Cluster& cluster);

}  // namespace penstock
