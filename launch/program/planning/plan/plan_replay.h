// launch/program/planning/plan/plan_replay.h -- the second half of `penstock plan`: replays steps
// of the best candidates as whole jobs whose nodes are not all alike, with jitter, stragglers and
// slow cards (runtime/planning/replay), and works out what failures of nodes would cost.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "launch/program/help/command_form.h"
#include "runtime/planning/plan/plan.h"
#include "runtime/planning/replay/job.h"

namespace penstock {

struct ReplayOptions {
  int candidates = 0;  // how many of the fastest are replayed; 0: none
  // How many steps of each, every one with other jitter; null: 5. Without jitter all are alike, and
  // one is replayed.
  std::optional<int> steps;
  double jitter = 0;  // standard deviation of a computation's time, as a share of it
  // "SHARE,FACTOR": this share of the nodes computes slower by the factor; empty: none.
  std::string stragglers;
  // "NODE,FACTOR": the card of node NODE (from 0) is slower by the factor; empty: none.
  std::string slow_node;
  double node_mtbf_h = 0;    // hours between two failures of a node; 0: nodes do not fail
  double checkpoint_s = 30;  // seconds that training stands still for a checkpoint
  double restart_s = 300;    // seconds from a failure until training goes on

  // Adds the command-line options that set these members.
  void add_to(CommandOptions& options);
};
// Throws Error(Input) for values that make no sense.
void check(const ReplayOptions& options);

// The times of a candidate as a whole job.
struct Replayed {
  size_t candidate = 0;  // its index in Plan::candidates
  StepSeconds step;      // of the median of the steps replayed; audits take what they are predicted
  double slowest_s = 0;  // the slowest of these steps, audited where some are
  double card_busy = 0;  // the share of a step in which the busiest network card works; median
  // The best time of training between two checkpoints, in seconds; nothing where no failures are
  // counted.
  std::optional<double> interval_s = {};
  // The share of the job's time that is neither spent on checkpoints nor lost by failures; 1 where
  // none are counted.
  double goodput = 1;
};

// Replays the fastest candidates of the plan. Throws Error(Input) for a slow node that the job does
// not have.
[[nodiscard]] std::vector<Replayed> replayed(const ReplayOptions& options, const Plan& plan,
                                             const PlanRequest& request);

// A line with the options of the fastest of the replays; empty where that is the plan's best, or
// nothing was replayed.
[[nodiscard]] std::string fastest_replayed(const std::vector<Replayed>& replays, const Plan& plan);

// The replays, on that cluster, as a table for the terminal.
[[nodiscard]] std::string replay_table(const std::vector<Replayed>& replays, const Plan& plan,
                                       const Cluster& cluster, const ReplayOptions& options);

}  // namespace penstock
