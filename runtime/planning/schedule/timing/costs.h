// runtime/planning/schedule/timing/costs.h -- PipelineCosts: how long each pass of each stage takes
// and how fast messages travel; the input of simulate() (simulate.h), which computes from it how
// long a step takes.
//
// The planner fills these structs from counted or measured layers (runtime/planning/plan).
// StageMemory, at the end, is the same for bytes: the input of byte_curve() (memory.h). Times are
// in seconds, or in any one unit of the caller's choice. The words are those of docs/concepts.md.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/planning/schedule/schedule.h"

namespace penstock {

// Times of one stage on one micro-batch.
struct StageTimes {
  double forward = 1;
  double recompute = 1;        // of the Recompute instruction
  double backward_input = 1;   // the half that computes the gradient of the stage's input
  double backward_weight = 1;  // the half that computes the gradients of the weights
  double backward = 2;         // both halves at once
};
// How long an instruction that computes takes.
[[nodiscard]] double seconds_of(const StageTimes& times, Op op);

// A link between two ranks, after the LogGP model (Alexandrov et al. 1995).
struct LinkTimes {
  double latency = 0;           // from the send to the first byte at the other end
  double seconds_per_byte = 0;  // messages from one stage to another travel one after the other
  double overhead = 0;          // processor time for a message, at each of its two ends
  // True: the receiving rank copies the bytes with its own processor, as between processes that
  // share host memory, and cannot compute meanwhile. It copies a message's bytes when it receives
  // the message, and those of sums over replicas while it waits for something else.
  bool receiver_copies = false;
};

// A bucket: a part of a stage's gradients that is summed over the replicas as one message.
struct ReduceBucket {
  // When its gradients are complete, as a share of the duration of the stage's last weight
  // gradient: 0 at the beginning of that instruction, 1 at its end.
  double ready = 1;
  double bytes = 0;
};

// All that simulate() must know besides the schedule. "By stage" and "by rank" mean one entry for
// each stage or rank of one pipeline.
struct PipelineCosts {
  std::vector<StageTimes> stage = {};  // by stage; must not be empty
  // [s]: bytes of the message from stage s to stage s + 1 for one micro-batch, and of the gradient
  // that comes back; stages - 1 entries. Empty: 0 everywhere.
  std::vector<double> boundary_bytes = {};
  // By skip, in the order of Schedule::skips: bytes of its message for one micro-batch. Empty: 0.
  std::vector<double> skip_bytes = {};
  LinkTimes within_node = {}, between_nodes = {};  // for two ranks on one node, and on two
  std::vector<int> node_of_rank = {};  // by rank: the number of its node; empty: one node
  // The links of the messages of boundary_bytes and skip_bytes, in their order, where links are
  // unlike. Empty: within_node and between_nodes.
  std::vector<LinkTimes> boundary_link = {}, skip_link = {};

  int replicas = 1;             // pipelines side by side, which sum their gradients
  LinkTimes replica_link = {};  // between the ranks that hold the same stage in different replicas
  // False: every replica updates all its weights (sums are an all-reduce). True: each replica
  // updates a share of them (ZeRO-1): a sum is a reduce-scatter, which moves half the bytes, and
  // after the update an all-gather brings each replica the weights that the others have updated.
  bool updates_are_shared = false;
  // When that all-gather happens. True: while the first forwards of the next step run, except where
  // replica_link.receiver_copies, since the receiver would have to stop computing. False: within
  // the OptimizerStep.
  bool late_weights = true;
  // One per stage: the buckets, in the order in which they become complete. Empty: nothing to sum.
  std::vector<std::vector<ReduceBucket>> reduce = {};
  // One per rank: the time of the OptimizerStep once all gradients are there. Empty: 0.
  std::vector<double> update = {};
  // One per rank: the time of the Audit instruction (audits.h), if there is one. Empty: 0.
  std::vector<double> audit = {};
  // True: the update waits for all ranks' gradients. False: a rank updates when its own gradients
  // are complete (the option optimizer.barrier).
  bool barrier = true;
  // One per rank: the time at which it begins the step. Without a barrier, ranks end the step
  // before at different times. Empty: all begin at 0.
  std::vector<double> begins = {};
};

// Throws std::invalid_argument if a list has another length than said above, or a number is not
// finite or makes no sense.
void check_costs(const PipelineCosts& costs, const Schedule& schedule);

// A sum over D replicas has two halves. In the first (reduce-scatter) each replica receives from
// all others one D-th of the bucket and adds it up; in the second (all-gather) it sends that sum to
// all others. half_sum_share() is the share of the bucket's bytes that each replica sends, and
// receives, in one half: (D-1)/D. The weights that shared updates exchange are one such half, too.
[[nodiscard]] double half_sum_share(const PipelineCosts& costs);
// The number of halves of a sum that run before the update: 2, or 1 where updates are shared.
[[nodiscard]] int halves_before_update(const PipelineCosts& costs);
// One per stage: the bytes of weights that pass each replica in the all-gather after the update;
// all 0 where updates are not shared.
[[nodiscard]] std::vector<double> gathered_bytes(const PipelineCosts& costs,
                                                 const Schedule& schedule);

// Returns the costs changed so that messages and sums take no time.
[[nodiscard]] PipelineCosts without_communication(PipelineCosts costs);

// How one compute instruction changes the bytes in use on its device. Tensors that pass between
// stages are included: a Forward finds its inputs in memory and leaves its outputs there; a
// Backward finds the gradients of its outputs and leaves the gradients of its inputs.
struct MemoryStep {
  int64_t held = 0;  // bytes in use after it, minus those before it; may be negative
  int64_t peak = 0;  // the most bytes in use while it runs, minus those before it
};

// The memory steps of one stage for one micro-batch. The tape is all that a forward records for its
// backward (the autograd graph with its tensors); the stash is the little from which a Recompute
// makes the tape again.
struct StageMemory {
  MemoryStep forward;          // where a Recompute follows: keeps only the stash
  MemoryStep forward_keep;     // where no Recompute follows: keeps the tape
  MemoryStep recompute;        // adds the tape to the stash
  MemoryStep backward;         // both halves; frees tape and stash
  MemoryStep backward_input;   // frees all but what BackwardWeight needs
  MemoryStep backward_weight;  // frees the rest
  int64_t input_bytes = 0;     // of the tensors that come from the stage before; 0 for data
  int64_t audit_peak = 0;      // the most bytes that an Audit of a micro-batch of the stage adds
};

}  // namespace penstock
