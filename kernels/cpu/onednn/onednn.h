// kernels/cpu/onednn/onednn.h -- the only wrapper of oneDNN, for its 2.x (Debian 12) and 3.x
// interfaces.
//
// Callers describe a product or a convolution in a plain struct, its plan; the wrapper makes the
// primitive on first sight, keeps it, and runs it: the same plan again creates and allocates
// nothing. Results are the same to the bit from run to run at any address for the same plan and
// thread count. Every call has ended when it returns. One thread at a time may use a wrapper.
//
// A call throws Error(Internal) naming the plan where the library refuses it.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>

#include "kernels/device.h"
#include "kernels/device_model.h"
#include "kernels/ops/activation.h"
#include "kernels/ops/dense.h"
#include "kernels/ops/image.h"
#include "kernels/tensor.h"
#include "kernels/weight.h"

namespace penstock {

// Element strides of (matrix, row, column).
using MatrixStrides = std::array<int64_t, 3>;

// How a product reads b in the order of AMX's tiles (kernels/cpu/tiles.h): not at all, from a copy
// that it makes (of an fp32 b, too), or as the caller gives it. Such a product has one matrix, no
// bias, no scale and no fused function; all its operands lie by rows, but a may lie by columns.
enum class Tiles : uint8_t { None, Copied, Given };

// c[batch, m, n] = f(scale a b + bias + (accumulate ? c : 0)), any element strides. Zero extents
// are fine; k == 0 is a product of zeros. A fused function gives the bits that activation_forward
// would give on the fp32 result (but for the sign of a zero, on old CPUs); Tanh wants a dense c.
// Fast where the matrices are dense, by rows or by columns.
struct MatmulPlan {
  int64_t batch = 1;
  int64_t m = 0, n = 0, k = 0;
  MatrixStrides a{}, b{}, c{};  // of a [m, k], b [k, n] and c [m, n]
  DType a_type = DType::F32, b_type = DType::F32, c_type = DType::F32;
  float scale = 1.0F;       // multiplies the product; not together with a bias
  bool accumulate = false;  // add to c
  bool bias = false;        // fp32 [n]
  // Reads that operand, dense, fp32 or emulated, from an fp32 copy with kRowPadding more elements
  // behind each of its rows.
  bool pad_a = false, pad_b = false;
  Tiles tiles = Tiles::None;
  bool b_alone = false;  // no other plan reads a narrowed copy of the weight b
  Fused fused = Fused::None;
  bool operator==(const MatmulPlan&) const = default;
};

// y[n, out_h, out_w, out] = f(x[n, h, w, in] * w[out, in / groups, kernel_h, kernel_w] + bias),
// all dense. x and y are of `type`, the weight's value, its gradient and the bias fp32.
struct ConvolutionPlan {
  int64_t n = 0, h = 0, w = 0, in = 0;
  int64_t out_h = 0, out_w = 0, out = 0;
  int64_t groups = 1;
  Window window;
  DType type = DType::F32;
  bool bias = false;
  Fused fused = Fused::None;
  bool operator==(const ConvolutionPlan&) const = default;
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
  // matmul() where b is the dense value of a weight. An fp32 value is read as it is, also where
  // bf16 is emulated, or from a copy in plan.b_type, made once after each Weight::changed(), or for
  // this call where the weight is read once and by plans like this one alone. A bf16 value, for a
  // plan of bf16 operands, is read as any other matrix, but widened in pieces (weight_pieces.h).
  void matmul(const MatmulPlan& plan, void* c, const void* a, Weight& b,
              const float* bias = nullptr);
  // Makes all that the first matmul() with the plan would make, and computes nothing. For plans
  // whose fused function is not Tanh.
  void prepare(const MatmulPlan& plan);
  void convolution_forward(const ConvolutionPlan& plan, void* y, const void* x, Weight& w,
                           const float* bias);
  // Backward convolutions ignore plan.bias and plan.fused, which must be left at their defaults.
  // The gradient of the weight has the layout of its value; it is added to dw, or overwrites it.
  void convolution_backward_input(const ConvolutionPlan& plan, void* dx, const void* g, Weight& w);
  void convolution_backward_weight(const ConvolutionPlan& plan, float* dw, const void* x,
                                   const void* g, bool accumulate);
  void activation_forward(void* y, const void* x, int64_t elements, DType type, Activation f);
  void activation_backward(void* dx, const void* g, const void* x, int64_t elements, DType type,
                           Activation f);

  [[nodiscard]] int64_t primitives_created() const;
  [[nodiscard]] bool native_bf16() const;  // else bf16 is emulated
  // The copies of operands with which products of linear layers are faster.
  [[nodiscard]] OperandCopies operand_copies() const;
  [[nodiscard]] std::string isa() const;  // "avx512_core_bf16"

  struct State;  // kernels/cpu/onednn/onednn_state.h

 private:
  void tiled_matmul(const MatmulPlan& plan, void* c, const void* a, const void* b);
  // The product with a bf16 weight where bf16 is emulated.
  void widened_matmul(const MatmulPlan& plan, void* c, const void* a, const Weight& b,
                      const float* bias);

  std::unique_ptr<State> state_;
};

}  // namespace penstock
