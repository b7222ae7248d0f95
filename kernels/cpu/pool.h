// kernels/cpu/pool.h -- pooling in our own loops, as ImageOps describes it: vectorised over the
// channels, in parallel over image rows. No two threads write one element and each sum has one
// order, so the results do not depend on the number of threads. Shapes are the caller's to check.
#pragma once

#include "kernels/cpu/families.h"

namespace penstock {

void pool_forward(int threads, const Tensor& y, const Tensor* chosen, const Tensor& x,
                  const Window& window, Pool kind);
void pool_backward(int threads, const Tensor& dx, const Tensor& g, const Tensor* chosen,
                   const Window& window, Pool kind);
void global_average_forward(int threads, const Tensor& y, const Tensor& x);
void global_average_backward(int threads, const Tensor& dx, const Tensor& g);

}  // namespace penstock
