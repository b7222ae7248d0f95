// kernels/ops/norm.h -- layer norm and RMS norm (over the last axis), and batch norm (over all axes
// but the last). Statistics and affine parameters are fp32; x, y and gradients are fp32 or bf16.
#pragma once

#include "kernels/ops/norm_sums.h"
#include "kernels/tensor.h"

namespace penstock {

class NormOps {
 public:
  virtual ~NormOps() = default;

  // y = (x - mean) rstd gamma + beta, per row. Writes mean[r] and rstd[r] for the backward halves.
  virtual void layer_norm_forward(Tensor& y, Tensor& mean, Tensor& rstd, const Tensor& x,
                                  const Tensor& gamma, const Tensor& beta, float epsilon) = 0;
  virtual void layer_norm_backward_input(Tensor& dx, const Tensor& g, const Tensor& x,
                                         const Tensor& mean, const Tensor& rstd,
                                         const Tensor& gamma) = 0;
  // dgamma += ..., dbeta += ...
  virtual void layer_norm_backward_weight(Tensor& dgamma, Tensor& dbeta, const Tensor& g,
                                          const Tensor& x, const Tensor& mean,
                                          const Tensor& rstd) = 0;

  // y = x rstd gamma with rstd = 1 / sqrt(mean(x^2) + epsilon), per row (Zhang and Sennrich 2019).
  // Writes rstd[r] for the backward halves.
  virtual void rms_norm_forward(Tensor& y, Tensor& rstd, const Tensor& x, const Tensor& gamma,
                                float epsilon) = 0;
  virtual void rms_norm_backward_input(Tensor& dx, const Tensor& g, const Tensor& x,
                                       const Tensor& rstd, const Tensor& gamma) = 0;
  // dgamma += ...
  virtual void rms_norm_backward_weight(Tensor& dgamma, const Tensor& g, const Tensor& x,
                                        const Tensor& rstd) = 0;

  // Normalises with the statistics of this micro-batch and writes them: mean[c], rstd[c] (biased
  // variance), and sums[kNormSums, c] of x and x^2 (GPipe 2.2: the moving averages are made from
  // whole mini-batches, see batch_norm_moments).
  virtual void batch_norm_forward(Tensor& y, Tensor& mean, Tensor& rstd, Tensor& sums,
                                  const Tensor& x, const Tensor& gamma, const Tensor& beta,
                                  float epsilon) = 0;
  // Writes mean[c] and variance[c], the unbiased estimate, of `positions` rows whose sums were
  // added up in fp32. Never below zero; 0 of a single row.
  virtual void batch_norm_moments(Tensor& mean, Tensor& variance, const Tensor& sums,
                                  double positions) = 0;
  // y = (x - mean) / sqrt(variance + epsilon) gamma + beta, with the moving averages.
  virtual void batch_norm_inference(Tensor& y, const Tensor& x, const Tensor& mean,
                                    const Tensor& variance, const Tensor& gamma, const Tensor& beta,
                                    float epsilon) = 0;
  // The gradient of the micro-batch form. Writes dparameters[2, c] = (dgamma, dbeta): the input
  // half needs them anyway, so the weight half is just an addition of these.
  virtual void batch_norm_backward(Tensor& dx, Tensor& dparameters, const Tensor& g,
                                   const Tensor& x, const Tensor& mean, const Tensor& rstd,
                                   const Tensor& gamma) = 0;

  // ---- the same in two steps, between which statistics and sums of other replicas may come in
  // mean, rstd and sums as batch_norm_forward writes them.
  virtual void batch_norm_statistics(Tensor& mean, Tensor& rstd, Tensor& sums, const Tensor& x,
                                     float epsilon) = 0;
  // y = (x - mean) rstd gamma + beta
  virtual void batch_norm_apply(Tensor& y, const Tensor& x, const Tensor& mean, const Tensor& rstd,
                                const Tensor& gamma, const Tensor& beta) = 0;
  // dparameters as batch_norm_backward writes them.
  virtual void batch_norm_gradients(Tensor& dparameters, const Tensor& g, const Tensor& x,
                                    const Tensor& mean, const Tensor& rstd) = 0;
  // dx, where mean and rstd are those of `positions` rows and dparameters their gradients' sums.
  virtual void batch_norm_backward_input(Tensor& dx, const Tensor& dparameters, int64_t positions,
                                         const Tensor& g, const Tensor& x, const Tensor& mean,
                                         const Tensor& rstd, const Tensor& gamma) = 0;
};

}  // namespace penstock
