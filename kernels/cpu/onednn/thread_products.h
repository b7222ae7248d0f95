// kernels/cpu/onednn/thread_products.h -- ThreadProducts: products that each thread computes by
// itself, for loops over many small products of few sizes.
#pragma once

#include <boost/container/static_vector.hpp>
#include <functional>
#include <span>
#include <vector>

#include "kernels/cpu/onednn/onednn.h"

namespace penstock {

class Prepared;

// The plans of a loop, of which there are few, on the stack: a step takes nothing from the heap.
inline constexpr size_t kMostProductPlans = 8;
using ProductPlans = boost::container::static_vector<MatmulPlan, kMostProductPlans>;

// c[m, n] = a b + (accumulate ? c : 0) in fp32. The rows of a [m, k] (of its transpose, where it
// lies transposed), of b [k, n] and of c begin that many numbers apart.
struct Gemm {
  int64_t m = 0, n = 0, k = 0;
  int64_t a_row = 0, b_row = 0, c_row = 0;
  bool a_transposed = false, accumulate = false;
};

class ThreadProducts {
 public:
  // Finds the primitives of the plans, kMostProductPlans at most, and makes them on first sight:
  // one of each for each thread of the device. Takes scratch memory for all threads, until it is
  // destroyed. A plan has one matrix, types that the processor multiplies and none of the copies
  // and functions of MatmulPlan. Throws Error(Internal) naming the plan where the library refuses
  // it.
  explicit ThreadProducts(OneDnn& dnn, std::span<const MatmulPlan> plans = {});
  // Computes the product of plan number `plan` on the calling thread, whose number in
  // [0, threads of the device) no other one uses meanwhile. Bits depend on the plan and the
  // operands alone. Throws Error(Internal) where the library fails, Error(Resource) when memory ran
  // out.
  void run(int thread, size_t plan, void* c, const void* a, const void* b);
  // Computes a product that has no plan, on the calling thread: no primitive is made, so that sizes
  // may differ from call to call. The library takes up to 2 MiB for its copies meanwhile. Bits
  // depend on the sizes and the operands alone. Throws as run().
  void run(const Gemm& gemm, float* c, const float* a, const float* b);

  // Returns whether the rows x [m, k] of `wide`, which multiplies them by a transposed matrix
  // w [n, k], get the same bits from `narrow`, which multiplies w by as many of the rows as it has
  // columns and leaves fp32 results transposed: narrow.m = n, and narrow.n divides m. On first
  // sight both multiply random numbers, for which the host lends memory; the answer is kept.
  [[nodiscard]] static bool agree(OneDnn& dnn, const MatmulPlan& wide, const MatmulPlan& narrow);

 private:
  OneDnn::State& state_;
  // The products of each plan, one for each thread.
  boost::container::static_vector<std::reference_wrapper<std::vector<Prepared>>, kMostProductPlans>
      products_;
  int64_t scratch_bytes_ = 0;  // of a thread
  Tensor scratch_;
};

}  // namespace penstock
