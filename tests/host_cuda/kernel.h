// tests/host_cuda/kernel.h -- KernelRun: one launch of a kernel by the emulated CUDA runtime, in
// which a CPU executes the kernels (README.md), with its grid and a copy of its arguments.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <vector>

namespace penstock::host_cuda {

// How to call a kernel with pointers to its arguments, and the sizes of its parameters in bytes.
struct KernelType {
  void (*call)(const void* function, void* const* arguments);
  std::vector<size_t> sizes;
};

// Keeps the type of the kernel at the address `function`: later launches name a kernel by its
// address alone.
void know_kernel(const void* function, const KernelType& type);

// A kernel with its arguments, ready to run any number of times.
class KernelRun {
 public:
  KernelRun() = default;
  KernelRun(const void* function, dim3 blocks, dim3 threads, size_t shared_bytes,
            void* const* arguments);
  // The error that a GPU returns when it is asked to launch this.
  [[nodiscard]] cudaError_t check() const;
  // Executes the kernel for all blocks and threads of the grid (run_grid(), block.h).
  void operator()() const;
  [[nodiscard]] const void* function() const { return function_; }

 private:
  static void call_thread(const void* call);

  const void* function_ = nullptr;
  dim3 blocks_, threads_;
  size_t shared_bytes_ = 0;
  const KernelType* type_ = nullptr;
  std::vector<std::vector<std::byte>> arguments_;
};

// Launches a kernel of which know_kernel() was told, as cudaLaunchKernelExC does.
[[nodiscard]] cudaError_t launch_kernel(const cudaLaunchConfig_t& config, const void* function,
                                        void* const* arguments);

}  // namespace penstock::host_cuda
