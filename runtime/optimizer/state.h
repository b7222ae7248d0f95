// runtime/optimizer/state.h -- StateTensor: a tensor that belongs to a parameter beside its weight,
// or to a moving statistic.
#pragma once

#include <string>

#include "kernels/tensor.h"

namespace penstock {

struct StateTensor {
  std::string parameter;  // "blocks.0.linear.weight"; with slot average also "....running_mean"
  std::string slot;       // as PyTorch calls it: exp_avg, exp_avg_sq, momentum_buffer, square_avg;
                          // or average
  Tensor tensor;          // a reference to the live tensor, not a copy

  // The name in a checkpoint: "blocks.0.linear.weight.exp_avg".
  [[nodiscard]] std::string name() const { return parameter + "." + slot; }
};

}  // namespace penstock
