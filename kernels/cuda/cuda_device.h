// kernels/cuda/cuda_device.h -- CudaDevice: one GPU behind the Device interface. What the CUDA
// links of runtime/comm need beyond it: the queue that computes, and pinned host memory.
#pragma once

#include "kernels/cuda/families.h"
#include "kernels/device.h"

namespace penstock {

class CudaDevice : public Device {
 public:
  [[nodiscard]] virtual Queue& queue() = 0;
  [[nodiscard]] virtual int ordinal() const = 0;
};

// The GPU behind a Device that is not host_addressable().
[[nodiscard]] CudaDevice& as_cuda(Device& device);

}  // namespace penstock
