// kernels/cuda/queue/memory_source.h -- the sources of memory for device tensors and for
// pinned host tensors.
#pragma once

#include <memory>

#include "kernels/cuda/queue/queue.h"
#include "kernels/memory/memory.h"

namespace penstock {

// The device's stream-ordered pool. The queue must outlive the source. Where there is no memory
// left, what the queue has gathered is issued before anything is given back: commands of an open
// section may name blocks that nobody holds any more.
[[nodiscard]] std::unique_ptr<MemorySource> device_memory_source(Queue& queue);
// Host memory that copies to and from the device run from without waiting.
[[nodiscard]] std::unique_ptr<MemorySource> pinned_memory_source();

}  // namespace penstock
