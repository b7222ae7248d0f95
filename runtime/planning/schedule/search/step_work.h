// runtime/planning/schedule/search/step_work.h -- StepWork: a SearchProblem in the form that loops
// read: what each instruction takes of its rank's time, messages included, and how long its result
// travels.
//
// A receive stands right before the instruction that needs it and a send right after the one that
// made it (lower.h), so what a message takes of a rank's time is added to that instruction.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "runtime/planning/schedule/search/problem.h"

namespace penstock {

// What the instructions of one stage take of their rank's time for one micro-batch.
struct StageWork {
  double forward = 0;
  double recompute = 0;  // before the input half, while its gradient is under way; 0: none
  double input = 0;      // the input half, as an instruction of its own
  double weight = 0;     // the weight half, as an instruction of its own
  double whole = 0;      // both halves as one instruction
};

// The way from a stage to its neighbour, in one direction.
struct Hop {
  double on_link = 0;  // messages are on the link one after the other, each for so long
  double latency = 0;  // after that
  bool local = false;  // both stages are on one rank, and nothing travels
};

inline constexpr int64_t kUnlimitedBytes = std::numeric_limits<int64_t>::max();

struct StepWork {
  int ranks = 0, stages = 0, micro_batches = 0;
  std::vector<int> rank_of_stage;
  std::vector<std::vector<int>> stages_of_rank;  // ascending
  std::vector<StageWork> stage;
  std::vector<Hop> hop;         // by boundary: from stage s to stage s + 1 and back
  std::vector<HeldBytes> held;  // by stage
  std::vector<int64_t> limit;   // by rank; kUnlimitedBytes: none
};

// `problem` must have passed check_problem().
[[nodiscard]] StepWork work_of(const SearchProblem& problem);

// The time from the beginning of the input half to the end of both, one way or the other, that no
// schedule goes below, in its two parts: until the gradient of the input is there, and the rest.
struct LeastBackward {
  double input = 0, weight = 0;
};
[[nodiscard]] LeastBackward least_backward(const StageWork& work);

}  // namespace penstock
