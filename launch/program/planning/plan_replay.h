// launch/program/planning/plan_replay.h -- the second half of `penstock plan`: the best
// candidates as whole jobs on their nodes (runtime/planning/replay), and what failures would cost
// them.
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
  int candidates = 0;        // how many of the fastest; 0: nothing is replayed
  int steps = 5;             // of each candidate, each with jitter of its own
  int cards = 1;             // network cards of a node, shared by its ranks; 0: nothing is shared
  double jitter = 0;         // deviation of every computation's time, as a share of it
  std::string stragglers;    // SHARE,FACTOR: a share of the nodes computes slower by the factor
  std::string slow_node;     // NODE,FACTOR: that node's network card is slower by the factor
  double node_mtbf_h = 0;    // hours from one failure of a node to its next; 0: nodes do not fail
  double checkpoint_s = 30;  // how long training stands still for a checkpoint
  double restart_s = 300;    // from a failure until training goes on

  // Adds options of the command line that fill this in.
  void add_to(CommandOptions& options);
};
// Throws Error(Input) for values that make no sense.
void check(const ReplayOptions& options);

// A candidate's times as a whole job.
struct Replayed {
  size_t candidate = 0;  // its index in the plan
  double step_s = 0;     // median of the steps that were replayed
  double slowest_s = 0;  // the slowest of these steps
  double card_busy = 0;  // the share of a step that the busiest network card is busy; median
  // Set where failures are counted: seconds of training between two checkpoints, and the share of
  // the job's time that is not lost.
  std::optional<double> interval_s = {};
  double goodput = 1;
};

// Replays the fastest candidates of the plan. Throws Error(Input) for a slow node that is not
// there.
[[nodiscard]] std::vector<Replayed> replayed(const ReplayOptions& options, const Plan& plan,
                                             const PlanRequest& request);

// The replays as a table for the terminal.
[[nodiscard]] std::string replay_table(const std::vector<Replayed>& replays, const Plan& plan,
                                       const ReplayOptions& options);

}  // namespace penstock
