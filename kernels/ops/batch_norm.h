// kernels/ops/batch_norm.h -- batch norm, over all axes but the last (Ioffe and Szegedy 2015).
// Statistics and affine parameters are fp32; x, y and gradients are fp32 or bf16.
#pragma once

#include "kernels/ops/norm_sums.h"
#include "kernels/tensor.h"

namespace penstock {

class BatchNormOps {
 public:
  virtual ~BatchNormOps() = default;

  // Normalises with the statistics of this micro-batch and writes them: mean[c], rstd[c] (biased
  // variance), and sums[kNormSums, c] of x and x^2: added up over a mini-batch, they give moments()
  // what the moving averages take (GPipe 2.2).
  virtual void forward(Tensor& y, Tensor& mean, Tensor& rstd, Tensor& sums, const Tensor& x,
                       const Tensor& gamma, const Tensor& beta, float epsilon) {
    statistics(mean, rstd, sums, x, epsilon);
    apply(y, x, mean, rstd, gamma, beta);
  }
  // Writes mean[c] and the unbiased variance[c] of `positions` rows, from their sums as forward()
  // writes them, added up in fp32. The variance is never below zero, and 0 of a single row.
  virtual void moments(Tensor& mean, Tensor& variance, const Tensor& sums, double positions) = 0;
  // y = (x - mean) / sqrt(variance + epsilon) gamma + beta, with the moving averages.
  virtual void inference(Tensor& y, const Tensor& x, const Tensor& mean, const Tensor& variance,
                         const Tensor& gamma, const Tensor& beta, float epsilon) = 0;
  // The gradients of forward(). Writes dparameters[2, c] = (dgamma, dbeta): dx needs both sums
  // anyway, so that the backward of the weights only adds them.
  virtual void backward(Tensor& dx, Tensor& dparameters, const Tensor& g, const Tensor& x,
                        const Tensor& mean, const Tensor& rstd, const Tensor& gamma) {
    gradients(dparameters, g, x, mean, rstd);
    backward_input(dx, dparameters, x.shape().rows(), g, x, mean, rstd, gamma);
  }

  // ---- forward() and backward() in two steps each, between which replicas may add up their sums
  // Writes mean, rstd and sums as forward() does.
  virtual void statistics(Tensor& mean, Tensor& rstd, Tensor& sums, const Tensor& x,
                          float epsilon) = 0;
  // y = (x - mean) rstd gamma + beta
  virtual void apply(Tensor& y, const Tensor& x, const Tensor& mean, const Tensor& rstd,
                     const Tensor& gamma, const Tensor& beta) = 0;
  // Writes dparameters as backward() does.
  virtual void gradients(Tensor& dparameters, const Tensor& g, const Tensor& x, const Tensor& mean,
                         const Tensor& rstd) = 0;
  // Writes dx of the rows of x. mean, rstd and dparameters are those of `positions` rows, of which
  // the rows of x are some (other replicas may have the others).
  virtual void backward_input(Tensor& dx, const Tensor& dparameters, int64_t positions,
                              const Tensor& g, const Tensor& x, const Tensor& mean,
                              const Tensor& rstd, const Tensor& gamma) = 0;
};

}  // namespace penstock
