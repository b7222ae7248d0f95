// kernels/ops/row_norm.h -- layer norm and RMS norm, over the last axis: a row r is all elements
// that differ in their last index alone. The statistics mean[r] and rstd[r] and the parameters
// gamma and beta (an element for each column) are fp32, and so are dgamma and dbeta; x, y, g and dx
// have one shape and are fp32 or bf16. An empty beta adds nothing, and has an empty dbeta.
#pragma once

#include "kernels/tensor.h"

namespace penstock {

class RowNormOps {
 public:
  virtual ~RowNormOps() = default;

  // y = (x - mean) rstd gamma + beta with the mean of the row and rstd = 1 / sqrt(variance +
  // epsilon). Writes mean[r] and rstd[r] for the backward halves.
  virtual void layer_norm_forward(Tensor& y, Tensor& mean, Tensor& rstd, const Tensor& x,
                                  const Tensor& gamma, const Tensor& beta, float epsilon) = 0;
  // Overwrites dx, given the gradient g of y.
  virtual void layer_norm_backward_input(Tensor& dx, const Tensor& g, const Tensor& x,
                                         const Tensor& mean, const Tensor& rstd,
                                         const Tensor& gamma) = 0;
  // Adds the gradients of gamma and beta to dgamma and dbeta.
  virtual void layer_norm_backward_weight(Tensor& dgamma, Tensor& dbeta, const Tensor& g,
                                          const Tensor& x, const Tensor& mean,
                                          const Tensor& rstd) = 0;

  // y = x rstd (offset + gamma) with rstd = 1 / sqrt(mean(x^2) + epsilon), per row (Zhang and
  // Sennrich 2019). An offset of 0 is the usual one, of 1 Gemma's, where gamma starts at 0. Writes
  // rstd[r] for the backward halves.
  virtual void rms_norm_forward(Tensor& y, Tensor& rstd, const Tensor& x, const Tensor& gamma,
                                float offset, float epsilon) = 0;
  // Overwrites dx, given the gradient g of y.
  virtual void rms_norm_backward_input(Tensor& dx, const Tensor& g, const Tensor& x,
                                       const Tensor& rstd, const Tensor& gamma, float offset) = 0;
  // Adds the gradient of gamma to dgamma.
  virtual void rms_norm_backward_weight(Tensor& dgamma, const Tensor& g, const Tensor& x,
                                        const Tensor& rstd) = 0;
};

}  // namespace penstock
