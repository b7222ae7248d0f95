// kernels/cpu/onednn/onednn_gemm.h -- a product of fp32 matrices without a primitive, for sizes
// that change from call to call: a primitive is made for one size.
#pragma once

#include <cstdint>

namespace penstock {

// A row-major matrix whose rows are `step` elements apart.
struct GemmMatrix {
  const float* data;
  int64_t step;
  bool transposed = false;  // the product reads the transpose
};

// c[m, n] = (accumulate ? c : 0) + a[m, k] b[k, n]; rows of c are `step` elements apart. Called in
// a parallel region it computes with the calling thread alone. Throws Error(Internal) where the
// library refuses the sizes.
void gemm(int64_t m, int64_t n, int64_t k, const GemmMatrix& a, const GemmMatrix& b, float* c,
          int64_t step, bool accumulate);

}  // namespace penstock
