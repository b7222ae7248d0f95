// kernels/cuda/queue/memory_source.h -- where device tensors and pinned host tensors get their
// bytes.
#pragma once

#include <cuda_runtime_api.h>

#include <memory>

#include "kernels/memory/memory.h"

namespace penstock {

// The device's stream-ordered pool. `stream` must outlive the source.
[[nodiscard]] std::unique_ptr<MemorySource> device_memory_source(cudaStream_t stream);
// Host memory that copies to and from the device run from without waiting.
[[nodiscard]] std::unique_ptr<MemorySource> pinned_memory_source();

}  // namespace penstock
