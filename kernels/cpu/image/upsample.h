// kernels/cpu/image/upsample.h -- enlarging of channels-last images on the CPU, in parallel over
// rows of pixels. No two threads write one element and each sum has one order, so the results do
// not depend on the number of threads. The caller has checked the shapes (kernels/ops/image.h).
#pragma once

#include "kernels/cpu/families.h"

namespace penstock {

// y and dx are overwritten; g is the gradient of y.
void upsample_forward(int threads, const Tensor& y, const Tensor& x, const Enlarging& enlarging);
void upsample_backward(int threads, const Tensor& dx, const Tensor& g, const Enlarging& enlarging);

}  // namespace penstock
