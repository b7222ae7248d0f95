// kernels/cpu/onednn/onednn_product.h -- PreparedProduct: a matrix product, ready to run by oneDNN.
// Included by onednn*.cpp only.
#pragma once

#include <vector>

#include "kernels/cpu/onednn/onednn_prepared.h"

namespace penstock {

// A product whose operands are read where they lie and have types that the processor multiplies: a
// plan that needs no copies.
//
// The library has fast code for a batch of matrices only where they follow each other in memory. A
// batch of dense matrices that lie apart is computed as one product for each matrix, each by one
// thread: all of them then run at the speed of that code.
class PreparedProduct {
 public:
  // Throws Error(Internal) naming the plan where the library refuses it.
  PreparedProduct(OneDnn::State& state, const MatmulPlan& plan);
  // `bias` where the plan has one.
  void run(OneDnn::State& state, void* c, const void* a, const void* b, const float* bias);

 private:
  struct Steps {  // bytes from a matrix to the next
    int64_t a, b, c;
  };

  int64_t products_;  // 1: the whole batch is one product; else the number of matrices
  bool bias_;
  Steps steps_;
  std::vector<Prepared> workers_;  // one primitive for a single product, else one for each thread
};

// Returns the primitive of a plan that needs no copies, one for each of `count` threads: each is
// made to be run by one thread. Throws as PreparedProduct does.
[[nodiscard]] std::vector<Prepared> prepare_for_threads(OneDnn::State& state,
                                                        const MatmulPlan& plan, int64_t count);

// "a product [8, 4] x [4, 2], batch 3, bf16 x bf16 -> fp32"
[[nodiscard]] std::string text(const MatmulPlan& plan);

}  // namespace penstock
