// kernels/cpu/onednn/onednn_product.h -- PreparedProduct: a matrix product, ready to run by oneDNN.
// Included by onednn*.cpp only.
#pragma once

#include <vector>

#include "kernels/cpu/onednn/onednn_prepared.h"

namespace penstock {

// A product of operands that are read where they lie and of types that the processor multiplies.
//
// The library has fast code for several matrices at a time only where they follow each other in
// memory. Others that are dense in themselves are products of their own, each computed by one
// thread, so that all of them run at that code's speed, however far apart they lie.
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

  int64_t products_;  // 1: all matrices at a time
  bool bias_;
  Steps steps_;
  std::vector<Prepared> workers_;  // of one thread each, if there are several products
};

// "a product [8, 4] x [4, 2], batch 3, bf16 x bf16 -> fp32"
[[nodiscard]] std::string text(const MatmulPlan& plan);

}  // namespace penstock
