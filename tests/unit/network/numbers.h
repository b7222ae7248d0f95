// tests/unit/network/numbers.h -- the elements of an fp32 tensor as numbers to compare.
#pragma once

#include <vector>

#include "kernels/tensor.h"

namespace penstock {

using Numbers = std::vector<double>;

[[nodiscard]] inline Numbers numbers_of(const Tensor& t) {
  const auto values = t.span<const float>();
  return {values.begin(), values.end()};
}

}  // namespace penstock
