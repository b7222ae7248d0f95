// runtime/planning/schedule/timing/data_use.h -- the times at which a rank's program needs the data
// of its micro-batches: a device that does not compute in host memory must have copied them by
// then, and may forget them after.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "runtime/planning/schedule/schedule.h"

namespace penstock {

// The number of micro-batches whose data are on their way to a device while one is computed there.
inline constexpr int kDataAhead = 2;

// The uses of data by the compute instructions of stages that read data.
struct DataUse {
  std::vector<int> order;           // micro-batches in the order of their first uses
  std::vector<size_t> first, last;  // by place in `order`: index of the instruction
};

// `reads`, by stage: whether it reads data. Micro-batches that none of them computes are left out.
[[nodiscard]] DataUse data_use(std::span<const Instruction> program,
                               const std::vector<bool>& reads);

// The most micro-batches whose data are there at once, if those of the first `ahead` come before
// the program starts, every other one's when the one `ahead` places before it is first used, and
// all go after their last use.
[[nodiscard]] int most_data_held(const DataUse& use, int ahead);

}  // namespace penstock
