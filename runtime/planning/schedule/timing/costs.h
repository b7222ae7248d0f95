// runtime/planning/schedule/timing/costs.h -- the costs of a step, stage by stage and link by link:
// what simulate() and peak_bytes() need to know about a network and a machine. Times in seconds (or
// any one unit).
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
  double seconds_per_byte = 0;  // messages of one directed edge follow one another
  double overhead = 0;          // for which each end is busy with a message and cannot compute
  // Host memory: the receiving rank moves the bytes itself, and computes nothing meanwhile. A
  // message is then moved when it is received, and sums over replicas while the rank waits.
  bool receiver_copies = false;
};

// A part of a stage's gradients that is summed over the replicas as one message.
struct ReduceBucket {
  double ready = 1;  // complete after this share of the stage's last weight gradient, 0 .. 1
  double bytes = 0;
};

struct PipelineCosts {
  std::vector<StageTimes> stage = {};  // one per stage
  // [s]: from stage s to s + 1, and the gradient back; empty: 0
  std::vector<double> boundary_bytes = {};
  std::vector<double> skip_bytes = {};  // by Schedule::skips; empty: 0
  LinkTimes within_node = {}, between_nodes = {};
  std::vector<int> node_of_rank = {};  // empty: one node

  int replicas = 1;
  LinkTimes replica_link = {};  // between the ranks of one reduce group
  // Each replica updates a share of the weights: a sum moves half the bytes, and after the update
  // all get the weights that the others have changed.
  bool updates_are_shared = false;
  // Shared weights come while the next step's first forwards run, where the receiver does not copy;
  // false: they are a part of the update.
  bool late_weights = true;
  // The buckets of each stage, in the order they become complete; empty: nothing to sum.
  std::vector<std::vector<ReduceBucket>> reduce = {};
  // The time of each rank's OptimizerStep once all gradients are there; empty: 0
  std::vector<double> update = {};
  // The time of each rank's Audit, in a step that has one; empty: 0
  std::vector<double> audit = {};
  // The update waits for all ranks' gradients; false: a rank updates when its own are complete
  // (optimizer.barrier).
  bool barrier = true;
  // The time at which each rank begins the step, since without a barrier it may have ended the one
  // before earlier than others. Empty: all at 0.
  std::vector<double> begins = {};
};

// Throws std::invalid_argument unless every list is empty (`stage` may not) or has its one entry
// per stage, boundary, skip or rank of the schedule, and every number is finite and makes sense.
void check_costs(const PipelineCosts& costs, const Schedule& schedule);

// The share of a bucket's bytes, or of the weights, that each replica sends, and takes, in one half
// of a sum: to the replica that adds them up, or from it to all.
[[nodiscard]] double half_sum_share(const PipelineCosts& costs);
// The number of halves before the update: 2, or 1 where updates are shared.
[[nodiscard]] int halves_before_update(const PipelineCosts& costs);
// The bytes of each stage's weights that pass between the replicas after the update: 0 where there
// are none.
[[nodiscard]] std::vector<double> gathered_bytes(const PipelineCosts& costs,
                                                 const Schedule& schedule);

// The same step with messages and sums that take no time.
[[nodiscard]] PipelineCosts without_communication(PipelineCosts costs);

// The change of the bytes in use by a verb of a stage, tuples that pass between stages included: a
// Forward finds its inputs in memory and leaves its outputs there, a Backward finds the gradient of
// the outputs and leaves that of the inputs.
struct MemoryStep {
  int64_t held = 0;  // more (or, if negative, fewer) bytes in use afterwards
  int64_t peak = 0;  // at most this many more while it runs
};

// The memory steps of one stage and one micro-batch.
struct StageMemory {
  MemoryStep forward;         // with a Recompute to come: keeps the stash only
  MemoryStep forward_keep;    // with none to come: keeps the tape
  MemoryStep recompute;       // from stash to tape
  MemoryStep backward;        // both halves; the tape and the stash are gone
  MemoryStep backward_input;  // keeps what BackwardWeight needs
  MemoryStep backward_weight;
  int64_t input_bytes = 0;  // of the tuple that enters; 0 for data
};

}  // namespace penstock
