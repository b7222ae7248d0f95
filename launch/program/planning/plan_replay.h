// launch/program/planning/plan_replay.h -- the second half of `penstock plan`: simulates steps of
// the best candidates again as whole jobs on their nodes, with shared network cards, jitter and
// slow nodes (runtime/planning/replay), and works out what failures of nodes would cost.
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
  int steps = 5;  // how many steps of each, every one with other jitter; one where `jitter` is 0
  int cards = 1;  // network cards of a node, which its ranks share; 0: ranks share none
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
  double step_s = 0;     // seconds of a step: the median of the steps replayed
  double slowest_s = 0;  // the slowest of these steps
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

// The replays as a table for the terminal.
[[nodiscard]] std::string replay_table(const std::vector<Replayed>& replays, const Plan& plan,
                                       const ReplayOptions& options);

}  // namespace penstock
