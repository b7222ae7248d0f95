// runtime/planning/schedule/search/exact.h -- best_programs(): the shortest step of a small
// problem, over all orders and splits of backwards.
//
// It goes through all ways to begin a step, ordered by how many instructions have run. Two ways
// that have run the same instructions differ only in when ranks, messages and links are free; one
// that is nowhere earlier than another is dropped, and so is one that cannot end before the best
// known step.
#pragma once

#include <optional>

#include "runtime/planning/schedule/search/bounds/heads_and_tails.h"
#include "runtime/planning/schedule/search/step_timer.h"

namespace penstock {

// Whether the problem is so small that trying all orders takes a second or so at most: 3 ranks with
// 4 micro-batches, say.
[[nodiscard]] bool may_try_all_orders(const StepWork& work);

// The programs with the shortest step, where it is shorter than `known` by more than a rounding;
// empty: there is no such step. No value: too many ways had to be kept, and nothing is known.
[[nodiscard]] std::optional<Programs> best_programs(const StepWork& work,
                                                    const HeadsAndTails& tails, double known);

}  // namespace penstock
