// runtime/planning/schedule/timing/costs.h -- the costs of a step, stage by stage and link by link:
// what simulate() and peak_bytes() must know of a network and a machine. Times in seconds (or any
// one unit).
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/planning/schedule/schedule.h"

namespace penstock {

// Times of one stage on one micro-batch.
struct StageTimes {
  double forward = 1;
  double recompute = 1;
  double backward_input = 1;
  double backward_weight = 1;
  double backward = 2;  // both halves at once
};

// A link between two ranks, after the LogGP model (Alexandrov et al. 1995).
struct LinkTimes {
  double latency = 0;           // from the send to the first byte at the other end
  double seconds_per_byte = 0;  // of a message; those of one directed edge follow one another
  double overhead = 0;          // time that a message takes from computing, at each end
  // True, as for host memory: the receiving rank moves the bytes itself and computes nothing
  // meanwhile: a message's when it receives it, those of sums over replicas while it waits.
  bool receiver_copies = false;
};

// A part of a stage's gradients that is summed over the replicas as one message.
struct ReduceBucket {
  double ready = 1;  // share of the last weight gradient after which it is complete
  double bytes = 0;
};

struct PipelineCosts {
  std::vector<StageTimes> stage = {};  // one per stage
  // [s]: bytes of a message from stage s to s + 1, and of its gradient back; empty: 0
  std::vector<double> boundary_bytes = {};
  std::vector<double> skip_bytes = {};  // of a message, by Schedule::skips; empty: 0
  LinkTimes within_node = {}, between_nodes = {};
  std::vector<int> node_of_rank = {};  // empty: one node

  int replicas = 1;
  LinkTimes replica_link = {};  // between replicas' ranks that sum gradients
  // True: each replica updates a share of the weights, so a sum moves half the bytes, and after the
  // update each replica gets the weights that the others have changed.
  bool updates_are_shared = false;
  // True: where updates are shared and the receiver does not copy, the weights come while the next
  // step's first forwards run. False: they come within the update.
  bool late_weights = true;
  // The buckets of each stage, in the order they become complete; empty: nothing to sum.
  std::vector<std::vector<ReduceBucket>> reduce = {};
  // The time of each rank's OptimizerStep once all gradients are there; empty: 0
  std::vector<double> update = {};
  // The time of each rank's Audit, in a step that has one; empty: 0
  std::vector<double> audit = {};
  // True: the update waits for all ranks' gradients. False: a rank updates when its own gradients
  // are complete (optimizer.barrier).
  bool barrier = true;
  // The time at which each rank begins the step; without a barrier ranks end the step before at
  // different times. Empty: all at 0.
  std::vector<double> begins = {};
};

// Throws std::invalid_argument unless `stage` has one entry per stage, every other list is empty or
// has one entry per stage, boundary, skip or rank, and every number is finite and makes sense.
void check_costs(const PipelineCosts& costs, const Schedule& schedule);

// A sum has two halves: each part of a bucket goes to the replica that adds it up, and from there
// to all. The share of a bucket's bytes (or of the weights') that each replica sends, and takes, in
// one half.
[[nodiscard]] double half_sum_share(const PipelineCosts& costs);
// The number of those halves that come before the update: 2, or 1 where updates are shared.
[[nodiscard]] int halves_before_update(const PipelineCosts& costs);
// The bytes of each stage's weights that replicas exchange after the update; 0 where updates are
// not shared.
[[nodiscard]] std::vector<double> gathered_bytes(const PipelineCosts& costs,
                                                 const Schedule& schedule);

// The costs with messages and sums that take no time.
[[nodiscard]] PipelineCosts without_communication(PipelineCosts costs);

// The change that a verb of a stage makes to the bytes in use, tensors that pass between stages
// included: a Forward finds its inputs in memory and leaves its outputs there, a Backward finds the
// outputs' gradients and leaves the inputs'.
struct MemoryStep {
  int64_t held = 0;  // bytes in use afterwards, less those before
  int64_t peak = 0;  // the most bytes in use while it runs, less those before
};

// The memory steps of one stage and one micro-batch.
struct StageMemory {
  MemoryStep forward;         // with a Recompute to come: keeps the stash only
  MemoryStep forward_keep;    // with none to come: keeps the tape
  MemoryStep recompute;       // from stash to tape
  MemoryStep backward;        // both halves; the tape and the stash are gone
  MemoryStep backward_input;  // keeps what BackwardWeight needs
  MemoryStep backward_weight;
  int64_t input_bytes = 0;  // of the tensors that enter; 0 for data
};

}  // namespace penstock
