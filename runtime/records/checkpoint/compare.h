// runtime/records/checkpoint/compare.h -- what differs between two checkpoints, tensor by tensor.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/records/checkpoint/reader.h"

namespace penstock {

struct TensorDifference {
  std::string name;
  // The shape and type of the tensor in each checkpoint; empty where one has no such tensor.
  std::string first, second;
  // The difference of the numbers, where both have the same shape and type:
  int64_t elements = 0;  // elements whose bits differ
  double largest = 0.0;  // the largest difference; NaN where a number is not finite, or the type is
                         // not computed with
};

// The tensors of weights and optimizer state that differ, by name; empty: all have the same bits.
// Keeps a few MiB of each checkpoint in memory. Throws as CheckpointReader::read.
[[nodiscard]] std::vector<TensorDifference> compare_checkpoints(CheckpointReader& first,
                                                                CheckpointReader& second);

}  // namespace penstock
