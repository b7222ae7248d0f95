// kernels/cpu/row_norm.h -- layer norm and RMS norm of the norm family, in a file of their own.
// Shapes are the caller's to check.
#pragma once

#include "kernels/cpu/families.h"

namespace penstock {

void layer_norm_forward(CpuContext& context, Tensor& y, Tensor& mean, Tensor& rstd, const Tensor& x,
                        const Tensor& gamma, const Tensor& beta, float epsilon);
void layer_norm_backward_input(CpuContext& context, Tensor& dx, const Tensor& g, const Tensor& x,
                               const Tensor& mean, const Tensor& rstd, const Tensor& gamma);
void layer_norm_backward_weight(CpuContext& context, Tensor& dgamma, Tensor& dbeta, const Tensor& g,
                                const Tensor& x, const Tensor& mean, const Tensor& rstd);

void rms_norm_forward(CpuContext& context, Tensor& y, Tensor& rstd, const Tensor& x,
                      const Tensor& gamma, float epsilon);
void rms_norm_backward_input(CpuContext& context, Tensor& dx, const Tensor& g, const Tensor& x,
                             const Tensor& rstd, const Tensor& gamma);
void rms_norm_backward_weight(CpuContext& context, Tensor& dgamma, const Tensor& g, const Tensor& x,
                              const Tensor& rstd);

}  // namespace penstock
