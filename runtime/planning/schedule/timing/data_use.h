// runtime/planning/schedule/timing/data_use.h -- data_use(): which instructions of a rank read the
// training data (inputs, labels) of each micro-batch first and last.
//
// On a GPU the data of a micro-batch must be copied to the device before the first of them, and can
// be freed after the last. The pipeline copies by this list while it trains
// (runtime/engine/pipeline/field_feed.h), and the planner counts the bytes by it
// (most_data_held()).
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "runtime/planning/schedule/schedule.h"

namespace penstock {

// The data of a micro-batch are copied to the device this many micro-batches before they are first
// used.
inline constexpr int kDataAhead = 2;

// The three lists are equally long; entry i of each is about the same micro-batch.
struct DataUse {
  std::vector<int> order;           // micro-batches in the order in which they are first used
  std::vector<size_t> first, last;  // index in the program of the first and last instruction
};

// The data use of one rank's program. `reads`, by stage of the whole pipeline: whether the stage
// reads training data. Micro-batches that no such stage in the program computes are left out.
[[nodiscard]] DataUse data_use(std::span<const Instruction> program,
                               const std::vector<bool>& reads);

// The most micro-batches whose data are on the device at once, if the data of the first `ahead`
// micro-batches of use.order are copied before the program starts, those of use.order[i] when
// use.order[i - ahead] is first used, and each micro-batch's data are freed after their last use.
[[nodiscard]] int most_data_held(const DataUse& use, int ahead);

}  // namespace penstock
