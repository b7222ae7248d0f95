// runtime/records/checkpoint/compare.h -- compare_checkpoints(): lists the tensors in which two
// checkpoints differ, bit by bit, and by how much: for users who ask whether two runs computed the
// same.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/records/checkpoint/reader.h"

namespace penstock {

// A tensor that differs.
struct TensorDifference {
  std::string name;
  // Shape and type in the first and second checkpoint, as text; empty where it has no such tensor.
  std::string first, second;
  // How the numbers differ; only where both have the same shape and type.
  int64_t elements = 0;  // how many elements have different bits
  // The largest absolute difference of two elements; NaN where a number is infinite or NaN, or the
  // type is not one of numbers that can be subtracted here.
  double largest = 0.0;
};

// Compares all tensors of weights and optimizer state. Returns those that differ, by name; empty:
// all have the same bits. Reads a few MiB at a time. Throws Error(Data) naming the file if one is
// damaged.
[[nodiscard]] std::vector<TensorDifference> compare_checkpoints(CheckpointReader& first,
                                                                CheckpointReader& second);

}  // namespace penstock
