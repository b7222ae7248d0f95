// kernels/cpu/onednn.h -- the only door to oneDNN, for its 2.x (Debian 12) and 3.x interfaces.
//
// Callers describe a product in a plain struct, its plan; the door makes the primitive on first
// sight, keeps it, and runs it: the same plan again creates and allocates nothing. Results are the
// same to the bit from run to run at any address for the same plan and thread count. Every call has
// ended when it returns. One thread at a time may use a door.
//
// A call throws Error(Internal) naming the plan where the library refuses it.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>

#include "kernels/ops/dense.h"
#include "kernels/ops/pointwise.h"
#include "kernels/tensor.h"

namespace penstock {

// c[batch.., m, n] = f(scale a b + bias + (accumulate ? c : 0)), any element strides, outer two
// axes are batch. Zero extents are fine; k == 0 is a product of zeros.
struct MatmulPlan {
  std::array<int64_t, 2> batch{1, 1};
  int64_t m = 0, n = 0, k = 0;
  // Element strides of (batch0, batch1, row, column) of a [m, k], b [k, n] and c [m, n].
  std::array<int64_t, 4> a{}, b{}, c{};
  DType a_type = DType::F32, b_type = DType::F32, c_type = DType::F32;
  float scale = 1.0F;       // multiplies the product; not together with a bias
  bool accumulate = false;  // add to c (fp32 c only)
  bool bias = false;        // fp32 [n]
  Fused fused = Fused::None;
  bool operator==(const MatmulPlan&) const = default;
};

enum class Bf16 : uint8_t {
  Auto,     // native where the CPU has it, else emulated
  Emulate,  // widen to fp32, compute, round: what an older CPU does, here for tests
};

class OneDnn {
 public:
  // Scratch memory comes from `memory`, charged to Purpose::Workspace.
  OneDnn(int threads, Memory& memory, Bf16 bf16 = Bf16::Auto);
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

  struct State;  // kernels/cpu/onednn_state.h

 private:
  // The product in fp32, for a CPU without bf16.
  void emulated(const MatmulPlan& plan, void* c, const void* a, const void* b, const float* bias);

  std::unique_ptr<State> state_;
};

}  // namespace penstock
