// runtime/planning/schedule/schedule.h -- the work of every rank, and its order, for one
// mini-batch.
//
// A schedule is data. It knows nothing of tensors, MPI or CUDA, so it can be printed, compared,
// proved free of deadlock and timed on a laptop before any rank is started. Generators make it,
// lower() completes it, verify() proves it, and the executor (runtime/engine/pipeline) alone turns
// instructions into work. Receives wait; sends never do, or for room in a window (TransportRules).
//
// Words used here and everywhere:
//   stage        one contiguous run of the network's layers, 0 .. stages-1
//   rank         one process of the pipeline, 0 .. ranks-1; holds stages / ranks stages ("chunks")
//   micro-batch  one of the equal parts of a mini-batch, 0 .. micro_batches-1
//   stash        what Forward keeps until the backward of the same micro-batch has run
//   bubble       the share of the time a rank waits
//
// This room includes nothing of ours; misuse throws std::invalid_argument with a full sentence.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace penstock {

enum class Op : uint8_t {
  Forward,          // stash grows by one micro-batch
  Recompute,        // the same forward again, with the tape on; before the wait for the gradient
  BackwardInput,    // gradient of the stage's input
  BackwardWeight,   // adds to the gradients of the stage's parameters
  Backward,         // both halves at once
  SendActivation,   // to `peer`, a later stage; absent when that stage lives on the same rank
  RecvActivation,   // from `peer`, an earlier stage
  SendGradient,     // to `peer`, an earlier stage
  RecvGradient,     // from `peer`, a later stage
  ReduceGradients,  // right before the last weight gradient of this stage: as soon as that one has
                    // completed a bucket of gradients, the bucket is summed over the replicas
  Audit,            // once per rank, where it waits longest: some steps execute again here what one
                    // of its micro-batches did, and compare the bits (place_audits())
  OptimizerStep,    // last of the step, once per rank: weights never change inside a mini-batch
};

// The names, in the order of Op: "F", "R", "I", "W", "B" for compute; "SA", "RA", "SG", "RG",
// "RED", "AUD", "OPT" for the rest.
[[nodiscard]] const char* name_of(Op op);
[[nodiscard]] constexpr bool is_compute(Op op) {
  return op <= Op::Backward;
}

[[nodiscard]] constexpr bool is_message(Op op) {
  return op >= Op::SendActivation && op <= Op::RecvGradient;
}
[[nodiscard]] constexpr bool is_send(Op op) {
  return op == Op::SendActivation || op == Op::SendGradient;
}

struct Instruction {
  Op op = Op::Forward;
  int stage = -1;        // -1 for Audit and OptimizerStep
  int micro_batch = -1;  // -1 for ReduceGradients, Audit and OptimizerStep
  int peer = -1;         // the stage at the other end of a message; else -1
  bool operator==(const Instruction&) const = default;
};
// "F0.3": op, stage, micro-batch; "RED2" and "OPT" where there is no micro-batch or stage. A
// message that passes stages by names its other end: "SA0.3>2", "RA2.3<0".
[[nodiscard]] std::string text(const Instruction& instruction);

// A skip connection: a tensor that a stage hands to a later one directly, past those between. For
// each micro-batch the tensor goes forward once, and its gradient back.
struct Skip {
  int from = 0, to = 0;  // stages; to > from + 1
  bool operator==(const Skip&) const = default;
};

struct Schedule {
  int ranks = 0;
  int stages = 0;  // ranks x chunks held by each rank
  int micro_batches = 0;
  std::vector<int> rank_of_stage;                 // by stage; looped or V placement
  std::vector<std::vector<Instruction>> program;  // program[rank], run strictly in order
  std::vector<Skip> skips = {};                   // besides the edges from each stage to the next
};

}  // namespace penstock
