// kernels/ops/batch_norm.h -- batch norm, over all axes but the last (Ioffe and Szegedy 2015): the
// last axis is the channels, c below; a row is one position of one sample, all its channels.
// Statistics and affine parameters are fp32 [c]; x, y and gradients are fp32 or bf16, of one shape.
// Every op overwrites its results.
#pragma once

#include "kernels/ops/norm_sums.h"
#include "kernels/tensor.h"

namespace penstock {

class BatchNormOps {
 public:
  virtual ~BatchNormOps() = default;

  // y = (x - mean) rstd gamma + beta with the statistics of this micro-batch, which are written,
  // too: mean[c], rstd[c] = 1 / sqrt(biased variance + epsilon), and `sums`, fp32 [kNormSums, c],
  // whose rows norm_sums.h lists: the sums over the rows of x, then of x^2, each as three floats.
  // The caller adds up `sums` over the micro-batches of a mini-batch (and over replicas); moments()
  // makes of that what the moving averages take (GPipe 2.2). No op makes mean and rstd of such a
  // sum.
  virtual void forward(Tensor& y, Tensor& mean, Tensor& rstd, Tensor& sums, const Tensor& x,
                       const Tensor& gamma, const Tensor& beta, float epsilon) {
    statistics(mean, rstd, sums, x, epsilon);
    apply(y, x, mean, rstd, gamma, beta);
  }
  // Writes mean[c] and the unbiased variance[c] of `positions` rows. `sums` is the sum, in fp32, of
  // the `sums` that forward() wrote for these rows. The variance is never below zero; it is 0 for a
  // single row.
  virtual void moments(Tensor& mean, Tensor& variance, const Tensor& sums, double positions) = 0;
  // y = (x - mean) / sqrt(variance + epsilon) gamma + beta; mean and variance are the moving
  // averages.
  virtual void inference(Tensor& y, const Tensor& x, const Tensor& mean, const Tensor& variance,
                         const Tensor& gamma, const Tensor& beta, float epsilon) = 0;
  // The gradients of forward(), given the gradient g of y and the mean and rstd that forward()
  // wrote. Writes dx and `dparameters`, fp32 [2, c]: dgamma in row 0, dbeta in row 1. Both are
  // needed for dx, so they are computed here; the backward of the weights then only adds them.
  virtual void backward(Tensor& dx, Tensor& dparameters, const Tensor& g, const Tensor& x,
                        const Tensor& mean, const Tensor& rstd, const Tensor& gamma) {
    gradients(dparameters, g, x, mean, rstd);
    backward_input(dx, dparameters, x.shape().rows(), g, x, mean, rstd, gamma);
  }

  // ---- forward() and backward() in two steps each. Between statistics() and apply() the caller
  // may merge mean and rstd over replicas (runtime/network/autograd/norm_functions.cpp does),
  // between gradients() and backward_input() it may add up dparameters over replicas.

  // Writes mean, rstd and sums of the rows of x as forward() does.
  virtual void statistics(Tensor& mean, Tensor& rstd, Tensor& sums, const Tensor& x,
                          float epsilon) = 0;
  // y = (x - mean) rstd gamma + beta
  virtual void apply(Tensor& y, const Tensor& x, const Tensor& mean, const Tensor& rstd,
                     const Tensor& gamma, const Tensor& beta) = 0;
  // Writes dparameters as backward() does.
  virtual void gradients(Tensor& dparameters, const Tensor& g, const Tensor& x, const Tensor& mean,
                         const Tensor& rstd) = 0;
  // Writes dx of the rows of x. mean and rstd are those of `positions` rows, and dparameters is the
  // sum over them; the rows of x are among them (other replicas may have the others).
  virtual void backward_input(Tensor& dx, const Tensor& dparameters, int64_t positions,
                              const Tensor& g, const Tensor& x, const Tensor& mean,
                              const Tensor& rstd, const Tensor& gamma) = 0;
};

}  // namespace penstock
