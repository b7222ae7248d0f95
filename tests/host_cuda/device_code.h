// tests/host_cuda/device_code.h -- the device language for a host compiler: included ahead of every
// .cu file, so that g++ takes it as C++ and the emulation runs it.
#pragma once

// The template of this name in the toolkit's header forgets the kernel's type; ours is below.
#define cudaLaunchKernelEx penstock_host_cuda_not_this_one
#include <cuda_runtime.h>
#undef cudaLaunchKernelEx
#include <cuda_bf16.h>

#include "tests/host_cuda/block.h"

#undef __shared__
#define __shared__ static __attribute__((noinit))  // one block runs at a time
#undef __launch_bounds__
#define __launch_bounds__(...)
#undef __grid_constant__
#define __grid_constant__

extern uint3 threadIdx, blockIdx;
extern dim3 blockDim, gridDim;
constexpr int warpSize = 32;

#include "tests/host_cuda/device_launch.h"
#include "tests/host_cuda/device_math.h"
#include "tests/host_cuda/device_memory.h"
#include "tests/host_cuda/device_warp.h"
