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

#include <cstdint>
#include <memory>
#include <string>

#include "kernels/cpu/image/convolution_plan.h"
#include "kernels/cpu/matmul_plan.h"
#include "kernels/cpu/operands.h"
#include "kernels/device.h"
#include "kernels/ops/activation.h"
#include "kernels/ops/dense.h"
#include "kernels/ops/image.h"
#include "kernels/tensor.h"
#include "kernels/weight.h"

namespace penstock {

class OneDnn {
 public:
  // Scratch memory comes from `memory`, charged to Purpose::Workspace.
  OneDnn(int threads, Memory& memory, Bf16 bf16 = Bf16::Auto);
  ~OneDnn();
  OneDnn(const OneDnn&) = delete;
  OneDnn& operator=(const OneDnn&) = delete;

  // Computes the product that the plan describes: overwrites c, or adds to it where plan.accumulate
  // is true. `bias` is read where plan.bias is true. Copies of operands are made as plan_operands()
  // says.
  void matmul(const MatmulPlan& plan, void* c, const void* a, const void* b,
              const float* bias = nullptr);
  // matmul() where b is the value of a weight, dense, of the type plan.b_type. A bf16 copy of an
  // fp32 value is made once after each Weight::changed() and kept in the weight, or made for this
  // call alone where the weight is read once and nothing else reads the copy.
  void matmul(const MatmulPlan& plan, void* c, const void* a, Weight& b,
              const float* bias = nullptr);
  // matmul() whose operands are read where `operands` says.
  void matmul(const MatmulPlan& plan, const OperandPlan& operands, void* c, const void* a,
              const void* b, const float* bias = nullptr);
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
  // The bytes that copies of operands, results and weights have read and written since the start.
  [[nodiscard]] int64_t copied_bytes() const;
  [[nodiscard]] std::string isa() const;  // "avx512_core_bf16"

  struct State;  // kernels/cpu/onednn/onednn_state.h

 private:
  friend class ThreadProducts;
  std::unique_ptr<State> state_;
};

}  // namespace penstock
