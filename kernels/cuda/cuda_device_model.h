// kernels/cuda/cuda_device_model.h -- what a GPU says of itself, as a DeviceModel.
#pragma once

#include <cuda_runtime_api.h>

#include "kernels/device_model.h"

namespace penstock {

// Peaks are the published ones of the part, else from the clock, the multiprocessors and what each
// of them does in a cycle; the shares that kernels reach are those assumed for every accelerator.
// `name` is that of a known model, else
// "gpu". `usable_bytes`: of its memory, what tensors may take.
[[nodiscard]] DeviceModel cuda_device_model(const cudaDeviceProp& properties, int ordinal,
                                            int64_t usable_bytes);

}  // namespace penstock
