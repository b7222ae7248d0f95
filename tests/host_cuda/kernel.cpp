#include "tests/host_cuda/kernel.h"

#include <algorithm>
#include <cstring>
#include <map>

#include "tests/host_cuda/block.h"
#include "tests/host_cuda/machine.h"

namespace penstock::host_cuda {
namespace {

constexpr uint32_t kMostThreads = 1024;
constexpr size_t kSharedByDefault = 48 << 10;
constexpr size_t kMostArgumentBytes = 4096;

struct KnownKernel {
  KernelType type;
  size_t most_shared = kSharedByDefault;  // cudaFuncAttributeMaxDynamicSharedMemorySize
};

std::map<const void*, KnownKernel>& known_kernels() {
  static std::map<const void*, KnownKernel> kernels;
  return kernels;
}

struct Call {
  const void* function;
  const KernelType* type;
  void* const* arguments;
};

}  // namespace

void know_kernel(const void* function, const KernelType& type) {
  PENSTOCK_HOST_CUDA_LOCK;
  KnownKernel& kernel = known_kernels()[function];
  if (kernel.type.call == nullptr) kernel.type = type;
}

KernelRun::KernelRun(const void* function, dim3 blocks, dim3 threads, size_t shared_bytes,
                     void* const* arguments)
    : function_(function), blocks_(blocks), threads_(threads), shared_bytes_(shared_bytes) {
  const auto known = known_kernels().find(function);
  if (known == known_kernels().end() || known->second.type.call == nullptr) return;
  type_ = &known->second.type;
  for (size_t a = 0; a < type_->sizes.size(); ++a) {
    const auto* bytes = static_cast<const std::byte*>(arguments[a]);
    arguments_.emplace_back(bytes, bytes + type_->sizes[a]);
  }
}

cudaError_t KernelRun::check() const {
  if (type_ == nullptr) return cudaErrorInvalidDeviceFunction;
  const uint64_t threads = uint64_t{threads_.x} * threads_.y * threads_.z;
  const uint64_t blocks = uint64_t{blocks_.x} * blocks_.y * blocks_.z;
  if (threads == 0 || threads > kMostThreads || threads_.z > 64 || blocks == 0 ||
      blocks_.x > 0x7fffffffU || blocks_.y > 65535 || blocks_.z > 65535) {
    return noted(cudaErrorInvalidConfiguration, "a kernel's grid or block is empty or too large");
  }
  if (shared_bytes_ > known_kernels()[function_].most_shared) {
    return noted(cudaErrorInvalidValue,
                 "more dynamic shared memory than 48 KiB or than cudaFuncSetAttribute allowed");
  }
  size_t argument_bytes = 0;
  for (const size_t size : type_->sizes) argument_bytes += size;
  if (argument_bytes > kMostArgumentBytes) {
    return noted(cudaErrorInvalidValue, "more than 4 KiB of kernel parameters");
  }
  return cudaSuccess;
}

void KernelRun::call_thread(const void* data) {
  const auto* call = static_cast<const Call*>(data);
  call->type->call(call->function, call->arguments);
}

void KernelRun::operator()() const {
  if (!kernel_may_run()) return;
  // Vectors of bytes are aligned for every type that a parameter can have.
  std::vector<void*> addresses;
  for (const std::vector<std::byte>& argument : arguments_) {
    addresses.push_back(const_cast<std::byte*>(argument.data()));
  }
  const Call call{function_, type_, addresses.data()};
  run_grid({blocks_, threads_, shared_bytes_, &call_thread, &call});
}

cudaError_t launch_kernel(const cudaLaunchConfig_t& config, const void* function,
                          void* const* arguments) {
  PENSTOCK_HOST_CUDA_LOCK;
  const KernelRun run(function, config.gridDim, config.blockDim, config.dynamicSmemBytes,
                      arguments);
  if (const cudaError_t status = run.check(); status != cudaSuccess) return noted(status);
  return noted(submit_kernel(config.stream, run));
}

}  // namespace penstock::host_cuda

using namespace penstock::host_cuda;  // NOLINT(google-build-using-namespace): the API is below

extern "C" {

cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* config, const void* function,
                                void** arguments) {
  return launch_kernel(*config, function, arguments);
}

cudaError_t cudaLaunchKernel(const void* function, dim3 grid, dim3 threads, void** arguments,
                             size_t shared_bytes, cudaStream_t stream) {
  cudaLaunchConfig_t config{};
  config.gridDim = grid;
  config.blockDim = threads;
  config.dynamicSmemBytes = shared_bytes;
  config.stream = stream;
  return launch_kernel(config, function, arguments);
}

cudaError_t cudaFuncSetAttribute(const void* function, cudaFuncAttribute attribute, int value) {
  PENSTOCK_HOST_CUDA_LOCK;
  if (attribute != cudaFuncAttributeMaxDynamicSharedMemorySize) return cudaSuccess;
  if (value < 0 || static_cast<size_t>(value) > kMostShared) return noted(cudaErrorInvalidValue);
  known_kernels()[function].most_shared = std::max(kSharedByDefault, static_cast<size_t>(value));
  return cudaSuccess;
}

}  // extern "C"
