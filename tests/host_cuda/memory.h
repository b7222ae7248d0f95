// tests/host_cuda/memory.h -- what memory there is: device memory and pinned host memory, known by
// address. Fresh and freed memory is all NaN; a write beyond an allocation's ends or after its end
// is found when its neighbourhood is looked at next.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

namespace penstock::host_cuda {

enum class Place { Pageable, Pinned, Device };

// The place of the memory at that address.
[[nodiscard]] Place place_of(const void* address);
// Whether one allocation of that place holds all these bytes; pageable memory is never known.
[[nodiscard]] bool holds(Place place, const void* address, size_t size_bytes);

}  // namespace penstock::host_cuda
