#include "tests/host_cuda/memory.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <string>

#include "tests/host_cuda/machine.h"
#include "tests/host_cuda/stop.h"

namespace penstock::host_cuda {
namespace {

constexpr size_t kAlignment = 512;        // as cudaMalloc's
constexpr size_t kFence = 512;            // bytes on either side that nobody may write
constexpr int kPoison = 0xff;             // as floats, bf16s and ids: NaN, NaN and -1
constexpr size_t kKeptBytes = 64U << 20;  // freed memory that is watched for writes

struct Allocation {
  std::byte* data = nullptr;
  size_t size_bytes = 0;
  Place place = Place::Device;
  int device = 0;
  bool freed = false;  // cudaFreeAsync was called; the stream has not come to it
};

std::map<const std::byte*, Allocation> allocations;  // by first byte
std::deque<Allocation> kept;
size_t kept_bytes = 0;
std::map<int, size_t> used_bytes;  // of each device

size_t device_bytes() {
  const char* limit = std::getenv("PENSTOCK_HOST_CUDA_MEMORY");
  return limit == nullptr ? size_t{80} << 30 : std::strtoull(limit, nullptr, 10);
}

const Allocation* allocation_of(const void* address) {
  const auto* at = static_cast<const std::byte*>(address);
  auto after = allocations.upper_bound(at);
  if (after == allocations.begin()) return nullptr;
  const Allocation& found = std::prev(after)->second;
  return at < found.data + std::max<size_t>(found.size_bytes, 1) ? &found : nullptr;
}

bool all_poison(const std::byte* at, size_t size_bytes) {
  for (size_t i = 0; i < size_bytes; ++i) {
    if (at[i] != std::byte{kPoison}) return false;
  }
  return true;
}

size_t padded(size_t size_bytes) {
  return (size_bytes + kAlignment - 1) / kAlignment * kAlignment;
}

// Takes the bytes after the last one asked for, up to the alignment, into the fence.
void check_fences(const Allocation& of) {
  const size_t beyond = padded(of.size_bytes) - of.size_bytes + kFence;
  if (!all_poison(of.data - kFence, kFence) || !all_poison(of.data + of.size_bytes, beyond)) {
    stop("something wrote beyond an allocation of " + std::to_string(of.size_bytes) + " bytes");
  }
}

void let_go(const Allocation& oldest) {
  check_fences(oldest);
  if (!all_poison(oldest.data, oldest.size_bytes)) {
    stop("something wrote to memory after it was freed (" + std::to_string(oldest.size_bytes) +
         " bytes)");
  }
  std::free(oldest.data - kFence);
}

std::byte* allocate(size_t size_bytes, Place place) {
  const size_t whole = padded(size_bytes) + 2 * kFence;
  if (place == Place::Device) {
    if (used_bytes[current_device()] + size_bytes > device_bytes()) return nullptr;
    used_bytes[current_device()] += size_bytes;
  }
  auto* data = static_cast<std::byte*>(std::aligned_alloc(kAlignment, whole));
  if (data == nullptr) return nullptr;
  std::memset(data, kPoison, whole);
  data += kFence;
  allocations[data] = {data, size_bytes, place, current_device(), false};
  return data;
}

// The allocation ends now.
void release(const std::byte* address) {
  const Allocation ended = allocations.at(address);
  allocations.erase(address);
  check_fences(ended);
  std::memset(ended.data, kPoison, ended.size_bytes);
  if (ended.place == Place::Device) used_bytes[ended.device] -= ended.size_bytes;
  kept.push_back(ended);
  kept_bytes += ended.size_bytes;
  while (kept_bytes > kKeptBytes) {
    kept_bytes -= kept.front().size_bytes;
    let_go(kept.front());
    kept.pop_front();
  }
}

cudaError_t allocated(void** to, size_t size_bytes, Place place) {
  *to = allocate(size_bytes, place);
  return noted(*to == nullptr ? cudaErrorMemoryAllocation : cudaSuccess);
}

cudaError_t freed(void* address, Place place) {
  if (address == nullptr) return cudaSuccess;
  const Allocation* found = allocation_of(address);
  if (found == nullptr || found->data != address || found->place != place || found->freed) {
    return noted(cudaErrorInvalidValue, "freed what is not allocated");
  }
  // The memory is freed once everything that may use it has ended, as on a GPU.
  run_until([] {
    for (const CUstream_st* stream : streams()) {
      if (!stream->tasks.empty()) return false;
    }
    return true;
  });
  release(found->data);
  return cudaSuccess;
}

}  // namespace

Place place_of(const void* address) {
  const Allocation* found = allocation_of(address);
  return found == nullptr ? Place::Pageable : found->place;
}

bool holds(Place place, const void* address, size_t size_bytes) {
  const Allocation* found = allocation_of(address);
  if (found == nullptr) return place == Place::Pageable;
  const auto* at = static_cast<const std::byte*>(address);
  return found->place == place && at + size_bytes <= found->data + found->size_bytes;
}

}  // namespace penstock::host_cuda

using namespace penstock::host_cuda;  // NOLINT(google-build-using-namespace): the API is below

extern "C" {

cudaError_t cudaMalloc(void** to, size_t size_bytes) {
  PENSTOCK_HOST_CUDA_LOCK;
  if (const cudaError_t refusal = refused_in_capture(); refusal != cudaSuccess) {
    return noted(refusal);
  }
  return allocated(to, size_bytes, Place::Device);
}

cudaError_t cudaFree(void* address) {
  PENSTOCK_HOST_CUDA_LOCK;
  if (const cudaError_t refusal = refused_in_capture(); refusal != cudaSuccess) {
    return noted(refusal);
  }
  return freed(address, Place::Device);
}

cudaError_t cudaMallocAsync(void** to, size_t size_bytes, cudaStream_t handle) {
  PENSTOCK_HOST_CUDA_LOCK;
  const CUstream_st* stream = stream_of(handle);
  if (stream == nullptr) return noted(cudaErrorInvalidResourceHandle);
  if (stream->capture != nullptr) return noted(cudaErrorNotSupported, "memory inside a graph");
  return allocated(to, size_bytes, Place::Device);
}

cudaError_t cudaFreeAsync(void* address, cudaStream_t handle) {
  PENSTOCK_HOST_CUDA_LOCK;
  if (address == nullptr) return cudaSuccess;
  const CUstream_st* stream = stream_of(handle);
  if (stream == nullptr) return noted(cudaErrorInvalidResourceHandle);
  if (stream->capture != nullptr) return noted(cudaErrorNotSupported, "memory inside a graph");
  const auto found = allocations.find(static_cast<const std::byte*>(address));
  if (found == allocations.end() || found->second.place != Place::Device || found->second.freed) {
    return noted(cudaErrorInvalidValue, "freed what is not allocated");
  }
  found->second.freed = true;
  return noted(submit(handle, at_once([data = found->second.data] { release(data); })));
}

cudaError_t cudaHostAlloc(void** to, size_t size_bytes, unsigned /*flags*/) {
  PENSTOCK_HOST_CUDA_LOCK;
  if (const cudaError_t refusal = refused_in_capture(); refusal != cudaSuccess) {
    return noted(refusal);
  }
  return allocated(to, size_bytes, Place::Pinned);
}

cudaError_t cudaMallocHost(void** to, size_t size_bytes) {
  return cudaHostAlloc(to, size_bytes, cudaHostAllocDefault);
}

cudaError_t cudaFreeHost(void* address) {
  PENSTOCK_HOST_CUDA_LOCK;
  if (const cudaError_t refusal = refused_in_capture(); refusal != cudaSuccess) {
    return noted(refusal);
  }
  return freed(address, Place::Pinned);
}

cudaError_t cudaHostGetDevicePointer(void** to, void* address, unsigned /*flags*/) {
  PENSTOCK_HOST_CUDA_LOCK;
  *to = address;
  return noted(place_of(address) == Place::Pinned ? cudaSuccess : cudaErrorInvalidValue);
}

cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* address) {
  PENSTOCK_HOST_CUDA_LOCK;
  *attributes = {};
  const Allocation* found = allocation_of(address);
  attributes->type = found == nullptr                ? cudaMemoryTypeUnregistered
                     : found->place == Place::Device ? cudaMemoryTypeDevice
                                                     : cudaMemoryTypeHost;
  attributes->device = found == nullptr ? cudaInvalidDeviceId : found->device;
  if (found != nullptr) attributes->devicePointer = const_cast<void*>(address);
  if (found == nullptr || found->place == Place::Pinned) {
    attributes->hostPointer = const_cast<void*>(address);
  }
  return cudaSuccess;
}

cudaError_t cudaMemGetInfo(size_t* free_bytes, size_t* total_bytes) {
  PENSTOCK_HOST_CUDA_LOCK;
  *total_bytes = device_bytes();
  *free_bytes = *total_bytes - used_bytes[current_device()];
  return cudaSuccess;
}

// The pool behind cudaMallocAsync has no settings here.
cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t* pool, int /*device*/) {
  *pool = nullptr;
  return cudaSuccess;
}
cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t /*pool*/, cudaMemPoolAttr /*attribute*/,
                                    void* /*value*/) {
  return cudaSuccess;
}
cudaError_t cudaMemPoolTrimTo(cudaMemPool_t /*pool*/, size_t /*keep_bytes*/) {
  return cudaSuccess;
}

}  // extern "C"
