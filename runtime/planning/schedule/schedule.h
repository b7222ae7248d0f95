// runtime/planning/schedule/schedule.h -- Schedule: for every rank of a pipeline, the list of
// instructions that it runs for one mini-batch (one training step), such as "forward of micro-batch
// 3 in stage 0" or "send the result to stage 1".
//
// A schedule is plain data. It knows nothing of tensors, MPI or CUDA, so it can be printed,
// compared, proved free of deadlock and timed on a laptop before any rank is started. It is made in
// steps: a generator (generators/) or a CSV file orders forwards and backwards, lower() (lower.h)
// adds messages and the rest, verify() (proof/verify.h) proves the result. The executor
// (runtime/engine/pipeline) runs it. A receive waits for its message; a send does not wait, or
// waits only for room in a window of messages (TransportRules, proof/replay.h).
//
// Words used here and everywhere:
//   stage        one contiguous run of the network's layers, 0 .. stages-1
//   rank         one process of the pipeline, 0 .. ranks-1; holds one stage or several ("chunks"),
//                mostly as many as every other rank
//   micro-batch  one of the equal parts of a mini-batch, 0 .. micro_batches-1
//   stash        what Forward keeps until the backward of the same micro-batch has run
//   bubble       the share of the time a rank waits
//
// Every function of this folder (runtime/planning/schedule) throws std::invalid_argument, with a
// full sentence, for arguments that make no sense. The folder includes no header from outside
// itself.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace penstock {

enum class Op : uint8_t {
  Forward,         // of one micro-batch in one stage; keeps a stash for the backward
  Recompute,       // the same forward again from its stash, now recording for the backward
  BackwardInput,   // gradient of the stage's input
  BackwardWeight,  // adds to the gradients of the stage's parameters
  Backward,        // both halves at once
  SendActivation,  // to `peer`, a later stage; there is no message to a stage of the same rank
  RecvActivation,  // from `peer`, an earlier stage
  SendGradient,    // to `peer`, an earlier stage
  RecvGradient,    // from `peer`, a later stage
  // Announces that this stage's gradients are to be summed over the replicas. It stands right
  // before the last weight gradient of the stage (Backward or BackwardWeight). While that runs,
  // each bucket of gradients (those of neighbouring layers) is summed as soon as it is complete.
  ReduceGradients,
  // At most once per rank, where it waits longest. In some steps the rank runs here the forward and
  // backward of one finished micro-batch a second time, and compares the bits (audits.h).
  Audit,
  OptimizerStep,  // last of the step, once per rank: weights never change inside a mini-batch
};

// A short name. In the order of Op: "F", "R", "I", "W", "B", "SA", "RA", "SG", "RG", "RED", "AUD",
// "OPT".
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

// One instruction of one rank's program.
struct Instruction {
  Op op = Op::Forward;
  int stage = -1;        // -1 for Audit and OptimizerStep
  int micro_batch = -1;  // -1 for ReduceGradients, Audit and OptimizerStep
  int peer = -1;         // the stage at the other end of a message; else -1
  bool operator==(const Instruction&) const = default;
};
// The instruction as text. "F0.3" is the Forward of stage 0 for micro-batch 3. "RED2" has no
// micro-batch, "OPT" neither micro-batch nor stage. A message over a skip connection names the
// stage at its other end: "SA0.3>2" goes from stage 0 to stage 2, "RA2.3<0" is its receive.
[[nodiscard]] std::string text(const Instruction& instruction);

// A skip connection: a tensor that a stage hands to a later one directly, past those between. For
// each micro-batch the tensor goes forward once, and its gradient back.
struct Skip {
  int from = 0, to = 0;  // stages; to > from + 1
  bool operator==(const Skip&) const = default;
};

struct Schedule {
  int ranks = 0;                                  // of one pipeline
  int stages = 0;                                 // every rank holds one at least
  int micro_batches = 0;                          // of one pipeline in one step
  std::vector<int> rank_of_stage;                 // by stage (generators/placement.h)
  std::vector<std::vector<Instruction>> program;  // by rank; each runs strictly in order
  std::vector<Skip> skips = {};                   // each pair of stages once
};

}  // namespace penstock
