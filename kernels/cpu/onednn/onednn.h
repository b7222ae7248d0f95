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

// The distances in elements from one matrix of a batch to the next, from one row to the next, and
// from one column to the next. A dense row-major matrix [m, k] has {m k, k, 1}, and the same memory
// read as its transpose {m k, 1, k}.
using MatrixStrides = std::array<int64_t, 3>;

// Whether a product reads b in the order of AMX's tiles (kernels/cpu/tiles.h). None: no, by its
// strides. Copied: from a copy in tiles, which the call makes of b (bf16 or fp32). Given: b is such
// a copy, which the caller made. A product with tiles has one matrix, no bias, no scale and no
// fused function; its matrices are dense and row-major, but a may be column-major.
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
  // Whether the call first copies a, or b, to an fp32 matrix whose rows are kRowPadding elements
  // longer (row_padding.h). The operand must be dense, and fp32 or bf16 that is emulated.
  bool pad_a = false, pad_b = false;
  Tiles tiles = Tiles::None;
  // True where b is a Weight whose narrowed (bf16) copy only plans like this one read: a weight
  // that is read once then need not keep the copy.
  bool b_alone = false;
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

  // Computes the product that the plan describes: overwrites c, or adds to it where plan.accumulate
  // is true. `bias` is read where plan.bias is true.
  void matmul(const MatmulPlan& plan, void* c, const void* a, const void* b,
              const float* bias = nullptr);
  // matmul() where b is the value of a weight, dense. plan.b_type is the type in which the product
  // reads it:
  // - The value has that type: it is read as it is; a bf16 value is widened in pieces where bf16 is
  // emulated (weight_pieces.h).
  // - The value is fp32 and plan.b_type is BF16: where bf16 is emulated or plan.tiles is Copied,
  // the fp32 value is read. Else a bf16 copy is read, which is made once after each
  // Weight::changed() and kept in the weight, or made for this call alone where the weight is read
  // once (Weight::is_read_once()) and plan.b_alone is set.
  void matmul(const MatmulPlan& plan, void* c, const void* a, Weight& b,
              const float* bias = nullptr);
  // Returns the value of a weight in that type: the value itself, or the bf16 copy of an fp32 value
  // that the products above read, made once after each Weight::changed() and kept in the weight.
  [[nodiscard]] Tensor value_as(Weight& weight, DType type);
  // Makes the primitive that the first matmul() with the plan would make, and computes nothing. The
  // plan's fused function must not be Tanh.
  void prepare(const MatmulPlan& plan);
  // Overwrites y with the convolution that the plan describes. `bias` [out] is read where plan.bias
  // is true. The library reads a form of the weight, which is made and kept as Packing::form_of()
  // says (onednn_filter.h).
  void convolution_forward(const ConvolutionPlan& plan, void* y, const void* x, Weight& w,
                           const float* bias);
  // Backward convolutions ignore plan.bias and plan.fused, which must be left at their defaults. g
  // is the gradient of y; dx is overwritten. dw has the layout of the weight's value; the gradient
  // is added to it where `accumulate` is true, else overwrites it.
  void convolution_backward_input(const ConvolutionPlan& plan, void* dx, const void* g, Weight& w);
  void convolution_backward_weight(const ConvolutionPlan& plan, float* dw, const void* x,
                                   const void* g, bool accumulate);
  // y[i] = f(x[i]) and dx[i] = g[i] f'(x[i]) for `elements` elements of `type`. y may be x, and dx
  // may be g.
  void activation_forward(void* y, const void* x, int64_t elements, DType type, Activation f);
  void activation_backward(void* dx, const void* g, const void* x, int64_t elements, DType type,
                           Activation f);

  [[nodiscard]] int64_t primitives_created() const;  // since the start, for DeviceCounts
  [[nodiscard]] bool native_bf16() const;            // else bf16 is emulated
  // The kind of operand copies with which the products of linear layers are faster on this
  // processor (linear_plans.h).
  [[nodiscard]] OperandCopies operand_copies() const;
  [[nodiscard]] std::string isa() const;  // "avx512_core_bf16"

  struct State;  // kernels/cpu/onednn/onednn_state.h

 private:
  friend class ThreadProducts;
  void tiled_matmul(const MatmulPlan& plan, void* c, const void* a, const void* b);
  // The product with a bf16 weight where bf16 is emulated.
  void widened_matmul(const MatmulPlan& plan, void* c, const void* a, const Weight& b,
                      const float* bias);

  std::unique_ptr<State> state_;
};

}  // namespace penstock
