// kernels/cpu/image/pool.h -- maximum, average and global average pooling of channels-last images
// on the CPU: vectorised over the channels, in parallel over image rows. No two threads write one
// element and each sum has one order, so the results do not depend on the number of threads.
//
// Shapes, which the caller has checked: x and dx are [n, h, w, c], and y and its gradient g are
// [n, oh, ow, c] for windows, [n, c] for the global average. All four are fp32, or all are bf16.
#pragma once

#include "kernels/cpu/families.h"

namespace penstock {

// y and dx are overwritten. `kind` says whether a window gives its maximum or its average; the
// backward gets the forward's. `chosen` (I32, shape of y) is for maxima: the forward writes to it
// the place of each maximum in its window, row * kernel_w + column, and the backward reads it. It
// is null for averages, and in a forward that no backward follows.
void pool_forward(int threads, const Tensor& y, const Tensor* chosen, const Tensor& x,
                  const Window& window, Pool kind);
void pool_backward(int threads, const Tensor& dx, const Tensor& g, const Tensor* chosen,
                   const Window& window, Pool kind);
// y is the mean of x over h and w. y and dx are overwritten.
void global_average_forward(int threads, const Tensor& y, const Tensor& x);
void global_average_backward(int threads, const Tensor& dx, const Tensor& g);

}  // namespace penstock
