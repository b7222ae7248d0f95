// tests/host_cuda/memory.h -- the emulated device memory and pinned host memory, known by address.
// Fresh and freed memory is all NaN; a write outside an allocation, or into freed memory, is found
// when the allocation is checked next.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

namespace penstock::host_cuda {

enum class Place { Pageable, Pinned, Device };

// The place of the memory at that address.
[[nodiscard]] Place place_of(const void* address);
// Whether one allocation of that place holds all these bytes; false for pageable memory.
[[nodiscard]] bool holds(Place place, const void* address, size_t size_bytes);

}  // namespace penstock::host_cuda
