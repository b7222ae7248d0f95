// kernels/cuda/queue/memory_source.h -- the sources of memory for device tensors and for
// pinned host tensors.
#pragma once

#include <memory>

#include "kernels/cuda/queue/queue.h"
#include "kernels/memory/memory.h"

namespace penstock {

// Memory of the device's stream-ordered pool, in the order of the queue's stream. The queue must
// outlive the source. Where the pool has no memory left, obtain() flushes the queue before it
// returns null: the caller then gives cached blocks back, and commands of an open section that are
// not issued yet may still use such blocks.
[[nodiscard]] std::unique_ptr<MemorySource> device_memory_source(Queue& queue);
// Pinned host memory. Copies between it and the device run without the host waiting for them.
[[nodiscard]] std::unique_ptr<MemorySource> pinned_memory_source();

}  // namespace penstock
