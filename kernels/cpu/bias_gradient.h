// kernels/cpu/bias_gradient.h -- the gradient of a bias, for all layers: sums over the rows of a
// matrix. It is a loop of our own, because oneDNN 2.6 has only a scalar one (0.5 GB/s).
#pragma once

#include "kernels/cpu/families.h"

namespace penstock {

// sums[c] += the sum over r of g[r, c]; sums fp32, g [rows, columns] fp32 or bf16. The order of the
// sum depends on the shape alone, not on the number of threads.
void add_column_sums(CpuContext& context, float* sums, const Tensor& g, int64_t rows,
                     int64_t columns);

}  // namespace penstock
