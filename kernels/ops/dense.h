// kernels/ops/dense.h -- matrix products. Tensors are fp32 or bf16 (products sum in fp32).
#pragma once

#include "kernels/tensor.h"
#include "kernels/weight.h"

namespace penstock {

// The function that a product or convolution applies to its result before storing it. Only
// functions whose derivative follows from their output, so that fusing changes nothing that
// backward needs.
enum class Fused : uint8_t { None, Relu, Tanh };

enum class Activation : uint8_t;  // kernels/ops/activation.h

class DenseOps {
 public:
  virtual ~DenseOps() = default;

  // y[r, out] = f(x[r, in] w[out, in]^T + bias[out]); r is the product of all axes of x and y but
  // the last. bias (fp32) may be null. x and y share one dtype; w is fp32 or of that dtype.
  virtual void linear_forward(Tensor& y, const Tensor& x, Weight& w, const Tensor* bias,
                              Fused f) = 0;
  // dx[r, in] = g[r, out] w. g is the gradient of the argument of f, which
  // ActivationOps::fused_backward() computes from the gradient of y.
  virtual void linear_backward_input(Tensor& dx, const Tensor& g, Weight& w) = 0;
  // dw[out, in] = (accumulate ? dw : 0) + g^T x;  dbias[out] += column sums of g (null: none). dw
  // and dbias are fp32.
  virtual void linear_backward_weight(Tensor& dw, Tensor* dbias, const Tensor& x, const Tensor& g,
                                      bool accumulate) = 0;
  // Only dbias[out] += column sums of g, for a frozen w. It has the same bits as from
  // linear_backward_weight().
  virtual void linear_backward_bias(Tensor& dbias, const Tensor& g) = 0;

  // The two functions below compute a product and, in the same pass, a function that is
  // differentiated from its argument `pre` (which is kept) and not from its result. Devices do so
  // for some functions, types and shapes. Each returns true if it did; else it returns false and
  // has done nothing, and the caller composes the same of the products above and ActivationOps. y,
  // pre and dpre are overwritten.
  //   pre = x w^T + bias, y = f(pre)
  virtual bool fused_linear_activation(Tensor& /*y*/, Tensor& /*pre*/, const Tensor& /*x*/,
                                       Weight& /*w*/, const Tensor* /*bias*/, Activation /*f*/) {
    return false;
  }
  //   dpre = (g w) f'(pre)
  virtual bool fused_linear_activation_backward(Tensor& /*dpre*/, const Tensor& /*g*/,
                                                Weight& /*w*/, const Tensor& /*pre*/,
                                                Activation /*f*/) {
    return false;
  }

  // c[batch, m, n] = (accumulate ? c : 0) + op(a) op(b), where op transposes the last two axes if
  // asked. a and b are [batch, ., .] with the same batch; all three share one dtype.
  virtual void matmul(Tensor& c, const Tensor& a, const Tensor& b, bool transpose_a,
                      bool transpose_b, bool accumulate) = 0;
};

}  // namespace penstock
