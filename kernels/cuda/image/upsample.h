// kernels/cuda/image/upsample.h -- enlarging of channels-last images on a GPU. One thread owns an
// element of the result, so that no sum depends on the order of threads. The caller has checked
// types and shapes, which are those of ImageOps (kernels/ops/image.h).
#pragma once

#include "kernels/cuda/families.h"

namespace penstock {

// y and dx are overwritten; g is the gradient of y.
void upsample_forward(CudaContext& context, Tensor& y, const Tensor& x, const Enlarging& enlarging);
void upsample_backward(CudaContext& context, Tensor& dx, const Tensor& g,
                       const Enlarging& enlarging);

}  // namespace penstock
