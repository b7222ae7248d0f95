// runtime/records/checkpoint/compare.h -- what differs between two checkpoints, tensor by tensor.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/records/checkpoint/reader.h"

namespace penstock {

struct TensorDifference {
  std::string name;
  // Of which shape and type it is in each; empty where one has no such tensor.
  std::string first, second;
  // Where both have it alike:
  int64_t elements = 0;  // that are not the same bits
  double largest = 0.0;  // difference between two of them; NaN where one is no finite number, or of
                         // a type that is not computed with
};

// By name, weights and optimizer state; empty: all tensors have the same bits. Keeps a few MiB of
// each in memory. Throws as CheckpointReader::read.
[[nodiscard]] std::vector<TensorDifference> compare_checkpoints(CheckpointReader& first,
                                                                CheckpointReader& second);

}  // namespace penstock
