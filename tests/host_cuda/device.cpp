// tests/host_cuda/device.cpp -- PENSTOCK_HOST_CUDA_DEVICES=n devices (1 unless told) that look like
// an H100, and the errors of the API. PENSTOCK_HOST_CUDA_FAULT=status:kernels breaks them: after so
// many kernels of this process every call fails with that status, as after an illegal address.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "tests/host_cuda/machine.h"

namespace penstock::host_cuda {
namespace {

thread_local int device_of_thread = 0;
thread_local cudaError_t last_error = cudaSuccess;

constexpr int kDriverVersion = 13000;

int device_count() {
  const char* count = std::getenv("PENSTOCK_HOST_CUDA_DEVICES");
  return count == nullptr ? 1 : std::atoi(count);
}

struct Doom {
  cudaError_t status = cudaSuccess;
  int64_t kernels = 0;  // that still run
};

Doom& doom() {
  static Doom told = [] {
    Doom doom;
    const char* text = std::getenv("PENSTOCK_HOST_CUDA_FAULT");
    if (text == nullptr) return doom;
    char* end = nullptr;
    doom.status = static_cast<cudaError_t>(std::strtol(text, &end, 10));
    doom.kernels = *end == ':' ? std::strtoll(end + 1, nullptr, 10) : 0;
    return doom;
  }();
  return told;
}

bool exists(int device) {
  return device >= 0 && device < device_count();
}

}  // namespace

int current_device() {
  return device_of_thread;
}

bool kernel_may_run() {
  return doom().status == cudaSuccess || --doom().kernels >= 0;
}

cudaError_t noted(cudaError_t status) {
  if (doom().status != cudaSuccess && doom().kernels < 0) status = doom().status;
  if (status != cudaSuccess && status != cudaErrorNotReady) last_error = status;
  return status;
}

cudaError_t noted(cudaError_t status, const char* why) {
  std::fprintf(stderr, "host CUDA: %s: %s\n", cudaGetErrorName(status), why);
  return noted(status);
}

}  // namespace penstock::host_cuda

using namespace penstock::host_cuda;  // NOLINT(google-build-using-namespace): the API is below

extern "C" {

cudaError_t cudaGetDeviceCount(int* count) {
  *count = device_count();
  return *count > 0 ? cudaSuccess : noted(cudaErrorNoDevice);
}

cudaError_t cudaSetDevice(int device) {
  if (!exists(device)) return noted(cudaErrorInvalidDevice);
  device_of_thread = device;
  return cudaSuccess;
}

cudaError_t cudaGetDevice(int* device) {
  *device = device_of_thread;
  return cudaSuccess;
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  if (!exists(device)) return noted(cudaErrorInvalidDevice);
  *properties = {};
  std::strncpy(properties->name, "host emulation", sizeof(properties->name) - 1);
  properties->uuid.bytes[0] = static_cast<char>(device);
  properties->totalGlobalMem = size_t{80} << 30;
  properties->sharedMemPerBlock = 48 << 10;
  properties->sharedMemPerBlockOptin = 227 << 10;
  properties->sharedMemPerMultiprocessor = 228 << 10;
  properties->reservedSharedMemPerBlock = 1 << 10;
  properties->regsPerBlock = 65536;
  properties->regsPerMultiprocessor = 65536;
  properties->warpSize = 32;
  properties->maxThreadsPerBlock = 1024;
  properties->maxThreadsDim[0] = properties->maxThreadsDim[1] = 1024;
  properties->maxThreadsDim[2] = 64;
  properties->maxGridSize[0] = 0x7fffffff;
  properties->maxGridSize[1] = properties->maxGridSize[2] = 65535;
  properties->totalConstMem = 64 << 10;
  properties->major = 9;
  properties->multiProcessorCount = kProcessors;
  properties->maxThreadsPerMultiProcessor = 2048;
  properties->maxBlocksPerMultiProcessor = 32;
  properties->l2CacheSize = 50 << 20;
  properties->memoryBusWidth = 5120;
  properties->concurrentKernels = 1;
  properties->canMapHostMemory = 1;
  properties->unifiedAddressing = 1;
  properties->asyncEngineCount = 3;
  properties->memoryPoolsSupported = 1;
  properties->pciBusID = device + 1;
  return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
  cudaDeviceProp properties{};
  if (const cudaError_t status = cudaGetDeviceProperties(&properties, device);
      status != cudaSuccess) {
    return status;
  }
  switch (attribute) {
    case cudaDevAttrMultiProcessorCount:
      *value = properties.multiProcessorCount;
      return cudaSuccess;
    case cudaDevAttrComputeCapabilityMajor:
      *value = properties.major;
      return cudaSuccess;
    case cudaDevAttrComputeCapabilityMinor:
      *value = properties.minor;
      return cudaSuccess;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin:
      *value = static_cast<int>(properties.sharedMemPerBlockOptin);
      return cudaSuccess;
    case cudaDevAttrClockRate:
      *value = 1980000;  // kHz
      return cudaSuccess;
    case cudaDevAttrMemoryClockRate:
      *value = 2619000;  // kHz
      return cudaSuccess;
    case cudaDevAttrGlobalMemoryBusWidth:
      *value = 5120;  // bits
      return cudaSuccess;
    case cudaDevAttrMemoryPoolsSupported:
      *value = 1;
      return cudaSuccess;
    default:
      return noted(cudaErrorNotSupported, "an attribute that is not emulated");
  }
}

cudaError_t cudaDeviceGetPCIBusId(char* to, int size, int device) {
  if (!exists(device)) return noted(cudaErrorInvalidDevice);
  std::snprintf(to, static_cast<size_t>(size), "0000:%02x:00.0", device + 1);
  return cudaSuccess;
}

cudaError_t cudaDriverGetVersion(int* version) {
  *version = kDriverVersion;
  return cudaSuccess;
}

cudaError_t cudaRuntimeGetVersion(int* version) {
  *version = CUDART_VERSION;
  return cudaSuccess;
}

cudaError_t cudaGetLastError() {
  return std::exchange(last_error, cudaSuccess);
}

cudaError_t cudaPeekAtLastError() {
  return last_error;
}

const char* cudaGetErrorName(cudaError_t status) {
  switch (status) {
#define PENSTOCK_NAME(error) \
  case error:                \
    return #error
    PENSTOCK_NAME(cudaSuccess);
    PENSTOCK_NAME(cudaErrorInvalidValue);
    PENSTOCK_NAME(cudaErrorMemoryAllocation);
    PENSTOCK_NAME(cudaErrorInvalidConfiguration);
    PENSTOCK_NAME(cudaErrorInvalidDeviceFunction);
    PENSTOCK_NAME(cudaErrorNoDevice);
    PENSTOCK_NAME(cudaErrorInvalidDevice);
    PENSTOCK_NAME(cudaErrorInvalidResourceHandle);
    PENSTOCK_NAME(cudaErrorIllegalState);
    PENSTOCK_NAME(cudaErrorNotReady);
    PENSTOCK_NAME(cudaErrorNotSupported);
    PENSTOCK_NAME(cudaErrorStreamCaptureUnsupported);
    PENSTOCK_NAME(cudaErrorStreamCaptureInvalidated);
    PENSTOCK_NAME(cudaErrorStreamCaptureIsolation);
    PENSTOCK_NAME(cudaErrorCapturedEvent);
    PENSTOCK_NAME(cudaErrorECCUncorrectable);
    PENSTOCK_NAME(cudaErrorIllegalAddress);
    PENSTOCK_NAME(cudaErrorMisalignedAddress);
    PENSTOCK_NAME(cudaErrorLaunchFailure);
#undef PENSTOCK_NAME
    default:
      return "cudaErrorUnknown";
  }
}

const char* cudaGetErrorString(cudaError_t status) {
  switch (status) {
    case cudaSuccess:
      return "no error";
    case cudaErrorMemoryAllocation:
      return "out of memory";
    case cudaErrorInvalidValue:
      return "invalid argument";
    case cudaErrorNotReady:
      return "device not ready";
    case cudaErrorNoDevice:
      return "no CUDA-capable device is detected";
    case cudaErrorECCUncorrectable:
      return "uncorrectable ECC error encountered";
    case cudaErrorIllegalAddress:
      return "an illegal memory access was encountered";
    default:
      return "failed in the host emulation";
  }
}

}  // extern "C"
