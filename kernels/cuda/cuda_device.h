// kernels/cuda/cuda_device.h -- CudaDevice: one GPU behind the Device interface. It also gives
// access to the queue of its commands, which the CUDA links of runtime/system/comm need.
#pragma once

#include "kernels/cuda/families.h"
#include "kernels/device.h"

namespace penstock {

class CudaDevice : public Device {
 public:
  [[nodiscard]] Queue& queue() { return queue_; }
  [[nodiscard]] int ordinal() const { return ordinal_; }  // among the visible GPUs, from 0

 protected:
  // Makes the GPU current first: streams belong to the current device. `graphs`: whether sections
  // are replayed as CUDA graphs (make_cuda_device()).
  CudaDevice(int ordinal, bool graphs);

 private:
  int ordinal_;
  Queue queue_;  // outlives what derives from this: memory goes back in its stream's order
};

// Returns `device` as the CudaDevice that it is; the caller still owns it. Throws Error(Internal)
// where it is another kind of device.
[[nodiscard]] CudaDevice& as_cuda(Device& device);

}  // namespace penstock
