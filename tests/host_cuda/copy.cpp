// tests/host_cuda/copy.cpp -- copies and fills. Pinned memory is read and written when the stream
// comes to it; pageable memory is read at once, and written before the call returns, as the real
// library does through its staging buffers.
#include <cstring>
#include <vector>

#include "tests/host_cuda/machine.h"
#include "tests/host_cuda/memory.h"

namespace penstock::host_cuda {
namespace {

bool host_side(Place place) {
  return place != Place::Device;
}

// The kind says what the addresses are; mapped memory may stand for the device's.
bool kind_fits(void* to, const void* from, size_t size_bytes, cudaMemcpyKind kind) {
  const Place target = place_of(to);
  const Place source = place_of(from);
  if (!holds(target, to, size_bytes) || !holds(source, from, size_bytes)) return false;
  switch (kind) {
    case cudaMemcpyHostToHost:
      return host_side(target) && host_side(source);
    case cudaMemcpyHostToDevice:
      return target != Place::Pageable && host_side(source);
    case cudaMemcpyDeviceToHost:
      return host_side(target) && source != Place::Pageable;
    case cudaMemcpyDeviceToDevice:
      return target != Place::Pageable && source != Place::Pageable;
    default:
      return true;
  }
}

Operation copying(void* to, const void* from, size_t size_bytes) {
  return at_once([=] { std::memmove(to, from, size_bytes); });
}

// The bytes as they are now.
Operation copying_now(void* to, const void* from, size_t size_bytes) {
  const auto* first = static_cast<const std::byte*>(from);
  return at_once([to, bytes = std::vector<std::byte>(first, first + size_bytes)] {
    std::memcpy(to, bytes.data(), bytes.size());
  });
}

cudaError_t copy(void* to, const void* from, size_t size_bytes, cudaMemcpyKind kind,
                 cudaStream_t handle) {
  if (size_bytes == 0) return cudaSuccess;
  CUstream_st* stream = stream_of(handle);
  if (stream == nullptr) return cudaErrorInvalidResourceHandle;
  if (!kind_fits(to, from, size_bytes, kind)) {
    return noted(cudaErrorInvalidValue, "a copy's addresses are not what its kind says");
  }
  const bool staged = place_of(from) == Place::Pageable && stream->capture == nullptr;
  const cudaError_t status =
      submit(handle, staged ? copying_now(to, from, size_bytes) : copying(to, from, size_bytes));
  if (status == cudaSuccess && place_of(to) == Place::Pageable && stream->capture == nullptr) {
    run_until([stream] { return stream->tasks.empty(); });
  }
  return status;
}

cudaError_t waited_for(cudaError_t status, cudaStream_t handle) {
  if (status != cudaSuccess) return noted(status);
  run_until([stream = stream_of(handle)] { return stream->tasks.empty(); });
  return cudaSuccess;
}

cudaError_t fill(void* to, int value, size_t size_bytes, cudaStream_t handle) {
  if (place_of(to) == Place::Pageable || !holds(place_of(to), to, size_bytes)) {
    return noted(cudaErrorInvalidValue, "a fill beyond an allocation");
  }
  return noted(submit(handle, at_once([=] { std::memset(to, value, size_bytes); })));
}

}  // namespace
}  // namespace penstock::host_cuda

using namespace penstock::host_cuda;  // NOLINT(google-build-using-namespace): the API is below

extern "C" {

cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t size_bytes, cudaMemcpyKind kind,
                            cudaStream_t stream) {
  PENSTOCK_HOST_CUDA_LOCK;
  return noted(copy(to, from, size_bytes, kind, stream));
}

cudaError_t cudaMemcpy(void* to, const void* from, size_t size_bytes, cudaMemcpyKind kind) {
  PENSTOCK_HOST_CUDA_LOCK;
  if (const cudaError_t refusal = refused_in_capture(); refusal != cudaSuccess) {
    return noted(refusal);
  }
  return waited_for(copy(to, from, size_bytes, kind, nullptr), nullptr);
}

cudaError_t cudaMemcpy2DAsync(void* to, size_t to_pitch, const void* from, size_t from_pitch,
                              size_t width, size_t height, cudaMemcpyKind kind,
                              cudaStream_t stream) {
  PENSTOCK_HOST_CUDA_LOCK;
  for (size_t row = 0; row < height; ++row) {
    const cudaError_t status =
        copy(static_cast<std::byte*>(to) + row * to_pitch,
             static_cast<const std::byte*>(from) + row * from_pitch, width, kind, stream);
    if (status != cudaSuccess) return noted(status);
  }
  return cudaSuccess;
}

cudaError_t cudaMemsetAsync(void* to, int value, size_t size_bytes, cudaStream_t stream) {
  PENSTOCK_HOST_CUDA_LOCK;
  return size_bytes == 0 ? cudaSuccess : fill(to, value, size_bytes, stream);
}

cudaError_t cudaMemset(void* to, int value, size_t size_bytes) {
  PENSTOCK_HOST_CUDA_LOCK;
  if (const cudaError_t refusal = refused_in_capture(); refusal != cudaSuccess) {
    return noted(refusal);
  }
  return waited_for(cudaMemsetAsync(to, value, size_bytes, nullptr), nullptr);
}

}  // extern "C"
