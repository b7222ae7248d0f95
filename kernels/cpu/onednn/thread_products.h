// kernels/cpu/onednn/thread_products.h -- ThreadProducts: products that each thread computes by
// itself, for loops over many small products of few sizes.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "kernels/cpu/onednn/onednn.h"

namespace penstock {

class Prepared;

class ThreadProducts {
 public:
  // Finds the primitives of the plans, and makes them on first sight: one of each for each thread
  // of the device. Takes scratch memory for all threads, until it is destroyed. A plan has one
  // matrix, types that the processor multiplies and none of the copies and functions of MatmulPlan.
  // Throws Error(Internal) naming the plan where the library refuses it.
  ThreadProducts(OneDnn& dnn, std::span<const MatmulPlan> plans);
  // Computes the product of plan number `plan` on the calling thread, whose number in
  // [0, threads of the device) no other one uses meanwhile. Bits depend on the plan and the
  // operands alone. Throws Error(Internal) where the library fails, Error(Resource) when memory ran
  // out.
  void run(int thread, size_t plan, void* c, const void* a, const void* b);

 private:
  OneDnn::State& state_;
  std::vector<std::reference_wrapper<std::vector<Prepared>>> products_;  // by plan; each by thread
  int64_t scratch_bytes_ = 0;                                            // of a thread
  Tensor scratch_;
};

}  // namespace penstock
