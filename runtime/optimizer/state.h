// runtime/optimizer/state.h -- StateTensor: a tensor that belongs to a parameter beside its weight.
#pragma once

#include <string>

#include "kernels/tensor.h"

namespace penstock {

struct StateTensor {
  std::string parameter;  // "blocks.0.linear.weight"
  std::string slot;       // as PyTorch calls it: exp_avg, exp_avg_sq, momentum_buffer, square_avg
  Tensor tensor;          // a reference to the live tensor, not a copy

  // The name in a checkpoint: "blocks.0.linear.weight.exp_avg".
  [[nodiscard]] std::string name() const { return parameter + "." + slot; }
};

}  // namespace penstock
