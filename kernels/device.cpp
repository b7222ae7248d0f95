#include "kernels/device.h"

#include "kernels/ops/pointwise.h"

namespace penstock {

Tensor Device::zeros(const Shape& shape, DType dtype, Purpose purpose) {
  Tensor tensor = empty(shape, dtype, purpose);
  pointwise().fill(tensor, 0.0F);
  return tensor;
}

}  // namespace penstock
