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
  // variance), and sums[kNormSums, c] of x and x^2 (GPipe 2.2: the moving averages are made from
  // whole mini-batches, see moments).
  virtual void forward(Tensor& y, Tensor& mean, Tensor& rstd, Tensor& sums, const Tensor& x,
                       const Tensor& gamma, const Tensor& beta, float epsilon) = 0;
  // Writes mean[c] and variance[c], the unbiased estimate, of `positions` rows whose sums were
  // added up in fp32. Never below zero; 0 of a single row.
  virtual void moments(Tensor& mean, Tensor& variance, const Tensor& sums, double positions) = 0;
  // y = (x - mean) / sqrt(variance + epsilon) gamma + beta, with the moving averages.
  virtual void inference(Tensor& y, const Tensor& x, const Tensor& mean, const Tensor& variance,
                         const Tensor& gamma, const Tensor& beta, float epsilon) = 0;
  // The gradient of the micro-batch form. Writes dparameters[2, c] = (dgamma, dbeta): the input
  // half needs them anyway, so the weight half is just an addition of these.
  virtual void backward(Tensor& dx, Tensor& dparameters, const Tensor& g, const Tensor& x,
                        const Tensor& mean, const Tensor& rstd, const Tensor& gamma) = 0;

  // ---- the same in two steps, between which statistics and sums of other replicas may come in
  // mean, rstd and sums as forward writes them.
  virtual void statistics(Tensor& mean, Tensor& rstd, Tensor& sums, const Tensor& x,
                          float epsilon) = 0;
  // y = (x - mean) rstd gamma + beta
  virtual void apply(Tensor& y, const Tensor& x, const Tensor& mean, const Tensor& rstd,
                     const Tensor& gamma, const Tensor& beta) = 0;
  // dparameters as backward writes them.
  virtual void gradients(Tensor& dparameters, const Tensor& g, const Tensor& x, const Tensor& mean,
                         const Tensor& rstd) = 0;
  // dx, where mean and rstd are those of `positions` rows and dparameters their gradients' sums.
  virtual void backward_input(Tensor& dx, const Tensor& dparameters, int64_t positions,
                              const Tensor& g, const Tensor& x, const Tensor& mean,
                              const Tensor& rstd, const Tensor& gamma) = 0;
};

}  // namespace penstock
