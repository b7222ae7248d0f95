// kernels/cuda/cuda_device.h -- CudaDevice: one GPU behind the Device interface, with the queue
// that the CUDA links of runtime/system/comm need besides.
#pragma once

#include "kernels/cuda/families.h"
#include "kernels/device.h"

namespace penstock {

class CudaDevice : public Device {
 public:
  [[nodiscard]] Queue& queue() { return queue_; }
  [[nodiscard]] int ordinal() const { return ordinal_; }

 protected:
  // Makes the GPU current first: streams belong to the current device.
  CudaDevice(int ordinal, bool graphs);

 private:
  int ordinal_;
  Queue queue_;  // outlives what derives from this: memory goes back in its stream's order
};

// The GPU behind a Device that is not host_addressable().
[[nodiscard]] CudaDevice& as_cuda(Device& device);

}  // namespace penstock
