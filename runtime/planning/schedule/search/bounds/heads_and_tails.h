// runtime/planning/schedule/search/bounds/heads_and_tails.h -- heads_and_tails(): for every part of
// a step's work the earliest moment at which any schedule can begin it, and the least time that
// passes from its end to the end of the step.
//
// They follow from what must come before and after a part: its inputs, the parts of the same stage
// that run in ascending order of micro-batches, and all of these that take the time of one rank,
// which runs them one after another. A rank's limit of bytes says how many micro-batches of a stage
// it holds at once; one more begins only when the input half of the oldest has ended.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/planning/schedule/search/step_work.h"

namespace penstock {

// The parts of a micro-batch's work in a stage. A backward counts in the shortest form of all
// splits (LeastBackward), so what holds for the parts holds for whole backwards and for halves.
enum class WorkPart : uint8_t { Forward, Recompute, Input, Weight };
inline constexpr int kParts = 4;
// The rank's time that a part takes.
[[nodiscard]] double part_time(const StageWork& work, WorkPart part);

struct HeadsAndTails {
  // Both are indexed by part_index().
  std::vector<double> head;  // no schedule begins the part earlier
  std::vector<double> tail;  // in every schedule at least so much passes after its end
};
[[nodiscard]] inline size_t part_index(const StepWork& work, int stage, int micro_batch,
                                       WorkPart part) {
  const size_t cell = static_cast<size_t>(stage) * work.micro_batches + micro_batch;
  return cell * kParts + static_cast<size_t>(part);
}

// The result is by stage: the most micro-batches between the beginning of the Forward and the end
// of the input half that its rank's limit has room for; at least 1, at most all.
[[nodiscard]] std::vector<int> most_in_flight(const StepWork& work);
// The result is by stage: how many micro-batches fit between their input and weight half beside
// `most` of them (by stage) in flight; at most all.
[[nodiscard]] std::vector<int> halves_beside(const StepWork& work, const std::vector<int>& most);

// O(parts x stages of a rank).
[[nodiscard]] HeadsAndTails heads_and_tails(const StepWork& work);

}  // namespace penstock
