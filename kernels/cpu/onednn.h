// kernels/cpu/onednn.h -- the only door to oneDNN, for its 2.x (Debian 12) and 3.x interfaces.
//
// Callers describe a product or a convolution in plain structs; this class makes the primitive on
// first sight, keeps it, and runs it. Results are the same to the bit from run to run at any
// address for the same description and thread count.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>

#include "kernels/ops/dense.h"
#include "kernels/ops/pointwise.h"
#include "kernels/tensor.h"

namespace penstock {

// c[batch.., m, n] = f(alpha? a b + bias + (accumulate ? c : 0)), any element strides, outer two
// axes are batch.
struct MatmulPlan {
  std::array<int64_t, 2> batch{1, 1};
  int64_t m = 0, n = 0, k = 0;
  // Element strides of (batch0, batch1, row, column) of a [m, k], b [k, n] and c [m, n].
  std::array<int64_t, 4> a{}, b{}, c{};
  DType a_type = DType::F32, b_type = DType::F32, c_type = DType::F32;
  float scale = 1.0F;       // multiplies the product
  bool accumulate = false;  // add to c (fp32 c only)
  bool bias = false;        // fp32 [n]
  Fused fused = Fused::None;
  bool operator==(const MatmulPlan&) const = default;
};

class OneDnn {
 public:
  explicit OneDnn(int threads);
  ~OneDnn();
  OneDnn(const OneDnn&) = delete;
  OneDnn& operator=(const OneDnn&) = delete;

  void matmul(const MatmulPlan& plan, void* c, const void* a, const void* b,
              const float* bias = nullptr);
  void activation_forward(void* y, const void* x, int64_t elements, DType type, Activation f);
  void activation_backward(void* dx, const void* g, const void* x, int64_t elements, DType type,
                           Activation f);

  [[nodiscard]] int64_t primitives_created() const;
  [[nodiscard]] bool native_bf16() const;
  [[nodiscard]] std::string isa() const;       // "avx512_core_bf16"
  [[nodiscard]] static std::string version();  // "2.6.3"

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace penstock
