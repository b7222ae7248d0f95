#include "kernels/cpu/onednn/onednn_gemm.h"

#include <oneapi/dnnl/dnnl.hpp>
#include <string>

#include "kernels/error.h"

namespace penstock {

void gemm(int64_t m, int64_t n, int64_t k, const GemmMatrix& a, const GemmMatrix& b, float* c,
          int64_t step, bool accumulate) {
  const dnnl_status_t status =
      dnnl_sgemm(a.transposed ? 'T' : 'N', b.transposed ? 'T' : 'N', m, n, k, 1.0F, a.data, a.step,
                 b.data, b.step, accumulate ? 1.0F : 0.0F, c, step);
  if (status == dnnl_success) return;
  fail_internal("oneDNN refuses a product [" + std::to_string(m) + ", " + std::to_string(k) +
                "] x [" + std::to_string(k) + ", " + std::to_string(n) + "]: status " +
                std::to_string(status));
}

}  // namespace penstock
