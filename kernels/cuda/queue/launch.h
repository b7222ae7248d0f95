// kernels/cuda/queue/launch.h -- how our kernels are launched: as commands of a Queue. For .cu
// files.
#pragma once

#include <cuda_runtime.h>

#include <array>
#include <tuple>

#include "kernels/cuda/queue/queue.h"

namespace penstock {

// The thread blocks of a launch and the threads of a block.
struct LaunchShape {
  dim3 grid{1, 1, 1};
  dim3 block{1, 1, 1};
  uint32_t shared_bytes = 0;  // dynamic shared memory
};

// Throws Error(Input) where a grid has more blocks along an axis than CUDA takes: 2^31 - 1 along x,
// 65,535 along y and z.
void require_grid(const dim3& grid);

// The CommandKind (queue.h) of kernels with the parameters P. Packed, one after another, are the
// kernel's address, its LaunchShape and its arguments.
template <class... P>
struct KernelCommand {
  static void issue(cudaStream_t stream, const std::byte* packed) {
    Unpacker in(packed);
    const auto kernel = in.next<void (*)(P...)>();
    const auto shape = in.next<LaunchShape>();
    const std::tuple<P...> arguments{in.next<P>()...};  // braces: read in this order
    cudaLaunchConfig_t config{};
    config.gridDim = shape.grid;
    config.blockDim = shape.block;
    config.dynamicSmemBytes = shape.shared_bytes;
    config.stream = stream;
    std::apply(
        [&](const P&... each) { PENSTOCK_CUDA(cudaLaunchKernelEx(&config, kernel, each...)); },
        arguments);
  }

  static void patch(cudaGraphExec_t graph, cudaGraphNode_t node, const std::byte* packed) {
    Unpacker in(packed);
    cudaKernelNodeParams parameters{};
    parameters.func = reinterpret_cast<void*>(in.next<void (*)(P...)>());
    const auto shape = in.next<LaunchShape>();
    parameters.gridDim = shape.grid;
    parameters.blockDim = shape.block;
    parameters.sharedMemBytes = shape.shared_bytes;
    std::tuple<P...> arguments{in.next<P>()...};
    std::apply(
        [&](P&... each) {
          std::array<void*, sizeof...(P)> addresses{static_cast<void*>(&each)...};
          parameters.kernelParams = addresses.data();
          PENSTOCK_CUDA(cudaGraphExecKernelNodeSetParams(graph, node, &parameters));
        },
        arguments);
  }

  static constexpr CommandKind kind{&issue, &patch};
};

// Submits kernel<<<grid, block, shared_bytes>>>(arguments...) to the queue. The arguments are
// converted to the kernel's parameter types first, which must be trivially copyable. Nothing is
// done where the grid is empty; one that is too large is refused (require_grid()).
template <class... P, class... A>
void launch(Queue& queue, void (*kernel)(P...), const LaunchShape& shape, const A&... arguments) {
  static_assert(sizeof...(P) == sizeof...(A));
  if (shape.grid.x == 0 || shape.grid.y == 0 || shape.grid.z == 0) return;  // nothing to do
  require_grid(shape.grid);
  queue.submit(KernelCommand<P...>::kind, kernel, shape, static_cast<P>(arguments)...);
}

// The number of blocks of `block` threads that cover n elements, a thread an element.
inline uint32_t blocks_for(int64_t n, int block) {
  return static_cast<uint32_t>((n + block - 1) / block);
}

}  // namespace penstock
