// kernels/cuda/cuda_device_model.h -- the DeviceModel of a GPU, from its own properties.
#pragma once

#include <cuda_runtime_api.h>

#include "kernels/device_model.h"

namespace penstock {

// Returns the model of the GPU with that ordinal, which `properties` describe. Its peaks are those
// published for the part (published_peak()), else computed from the clock, the multiprocessors and
// what each of them does in a cycle. The shares of the peaks that kernels reach are assumed to be
// those of an H100. `name` of the result is that of a known model (device_model_named()), else
// "gpu". `usable_bytes`, how much of its memory tensors may take, becomes memory_bytes.
[[nodiscard]] DeviceModel cuda_device_model(const cudaDeviceProp& properties, int ordinal,
                                            int64_t usable_bytes);

}  // namespace penstock
