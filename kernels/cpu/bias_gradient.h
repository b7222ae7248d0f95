// kernels/cpu/bias_gradient.h -- the gradient of a bias, for all layers: sums over the rows of a
// matrix. It is a loop of our own, because oneDNN 2.6 has only a scalar one (0.5 GB/s).
#pragma once

#include "kernels/cpu/families.h"

namespace penstock {

inline constexpr int64_t kRowsOfASum = 512;  // few, for many tasks and little rounding

// The elements of scratch memory, fp32, that add_column_sums() takes: sums of each column over
// blocks of kRowsOfASum rows.
[[nodiscard]] inline int64_t partial_sums(const Shape& g) {
  return (g.rows() + kRowsOfASum - 1) / kRowsOfASum * g.back();
}

// sums[c] += the sum over r of g[r, c], whose axes but the last count as rows; sums fp32, g fp32 or
// bf16. The order of the sum depends on the shape alone, not on the number of threads.
void add_column_sums(const CpuContext& context, float* sums, const Tensor& g);

}  // namespace penstock
