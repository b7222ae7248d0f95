// runtime/planning/schedule/search/bounds/bound.h -- lower bounds: how long a step takes at least,
// whatever the order of the instructions and whether backwards run whole or in halves.
//
// Counted are the schedules that verify() accepts: each stage runs its forwards, its input halves
// and its weight halves in ascending order of micro-batches. No rank holds more than its limit.
// Every bound is a sum of terms that can be checked by hand.
#pragma once

#include <vector>

#include "runtime/planning/schedule/search/bounds/heads_and_tails.h"

namespace penstock {

// On one rank, the parts (heads_and_tails.h) that cannot begin before `head` and have a tail of at
// least `tail` take `work` of the rank's time, one after another.
struct WorkBound {
  int rank = 0;
  double head = 0, work = 0, tail = 0;
  [[nodiscard]] double total() const { return head + work + tail; }
};

// Whether the first bound says more: it is larger, or as large with more work, which says better
// where the time goes.
[[nodiscard]] bool says_more(const WorkBound& a, const WorkBound& b);

// On one rank, every micro-batch holds bytes from its Forward to the end of its backward, which are
// `byte_seconds` of all micro-batches at least, and never more than `limit` at once. The first
// begins no earlier than `head`, and `tail` passes after the last.
struct MemoryBound {
  int rank = 0;
  double head = 0, byte_seconds = 0, tail = 0;
  int64_t limit = 0;
  [[nodiscard]] double total() const {
    return byte_seconds > 0 ? head + byte_seconds / static_cast<double>(limit) + tail : 0;
  }
};

// The result is by stage: the time from the beginning of a micro-batch's Forward to the end of its
// input half at least.
[[nodiscard]] std::vector<double> round_trips(const StepWork& work);

// The work of the rank's parts with heads and tails that are no smaller than these.
[[nodiscard]] double work_from(const StepWork& work, const HeadsAndTails& known, int rank,
                               double head, double tail);

// One per rank: the largest of its work bounds, by any head up to some thousands of them. O(n^2)
// for the n parts of a rank.
[[nodiscard]] std::vector<WorkBound> work_bounds(const StepWork& work, const HeadsAndTails& known);
// One for each rank that has a limit.
[[nodiscard]] std::vector<MemoryBound> memory_bounds(const StepWork& work,
                                                     const HeadsAndTails& known);
// The largest of them all.
[[nodiscard]] double lower_bound(const StepWork& work, const HeadsAndTails& known);

}  // namespace penstock
