// kernels/cuda/cuda_device_model.h -- the DeviceModel of a GPU, from its own properties.
#pragma once

#include <cuda_runtime_api.h>

#include "kernels/device_model.h"

namespace penstock {

// Peaks are the published ones of the part, else computed from the clock, the multiprocessors and
// what each of them does in a cycle; the shares that kernels reach are those assumed for every
// accelerator. `name` is the name of a known model, else "gpu". `ordinal`: the GPU that
// `properties` describe. `usable_bytes`: the part of its memory that tensors may take.
[[nodiscard]] DeviceModel cuda_device_model(const cudaDeviceProp& properties, int ordinal,
                                            int64_t usable_bytes);

}  // namespace penstock
