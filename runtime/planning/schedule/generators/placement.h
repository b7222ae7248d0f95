// runtime/planning/schedule/generators/placement.h -- which rank holds which stage: makes a
// Schedule whose stages are placed and whose programs are still empty.
//
// Each generator (generators.h) starts from one of these, and then writes the programs.
// With 2 ranks and 2 stages each:
//
//   looped: rank 0 holds stages 0 and 2, rank 1 stages 1 and 3
//   folded: rank 0 holds stages 0 and 3, rank 1 stages 1 and 2
//
// placed() has any placement, in which ranks may hold unequal numbers of stages. All three throw
// std::invalid_argument for sizes below 1 or beyond the limits of well_formed.h.
#pragma once

#include <vector>

#include "runtime/planning/schedule/schedule.h"

namespace penstock {

// Places stage s of ranks x chunks stages on rank s mod ranks. chunks = 1 is the plain pipeline
// with one stage per rank.
[[nodiscard]] Schedule looped(int ranks, int chunks, int micro_batches);

// Places two stages on each rank in a V: rank r holds stages r and 2 * ranks - 1 - r, so the first
// and the last stage are both on rank 0.
[[nodiscard]] Schedule folded(int ranks, int micro_batches);

// Places each stage on the rank that the list says, from 0 to the largest in it. Throws
// std::invalid_argument, too, where one of these ranks has no stage.
[[nodiscard]] Schedule placed(const std::vector<int>& rank_of_stage, int micro_batches);

// By rank, how many stages it holds. No number in the list is negative or above kMaxStages.
[[nodiscard]] std::vector<int> stages_held(const std::vector<int>& rank_of_stage);
// Whether every rank holds as many as every other.
[[nodiscard]] bool holds_equally_many(const std::vector<int>& rank_of_stage);

}  // namespace penstock
