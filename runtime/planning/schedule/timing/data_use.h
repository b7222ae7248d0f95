// runtime/planning/schedule/timing/data_use.h -- data_use(): where a rank's program first and last
// reads the data of each micro-batch. A device with memory of its own must have copied the data by
// the first use, and may free them after the last.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "runtime/planning/schedule/schedule.h"

namespace penstock {

// How many micro-batches ahead of their first use data are copied to a device.
inline constexpr int kDataAhead = 2;

// The first and last use of each micro-batch's data in a program.
struct DataUse {
  std::vector<int> order;           // micro-batches in the order of their first uses
  std::vector<size_t> first, last;  // [i]: instruction with the first, last use of data of order[i]
};

// `reads`, by stage: whether the stage reads data. Micro-batches that no such stage of the program
// computes are left out.
[[nodiscard]] DataUse data_use(std::span<const Instruction> program,
                               const std::vector<bool>& reads);

// The most micro-batches whose data are on the device at once, if the data of the first `ahead`
// come before the program starts, those of order[i] when order[i - ahead] is first used, and all go
// after their last use.
[[nodiscard]] int most_data_held(const DataUse& use, int ahead);

}  // namespace penstock
