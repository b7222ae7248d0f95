// tests/host_cuda/capture.h -- in the emulated CUDA runtime (README.md), adds operations of a
// stream that is being captured to its graph.
#pragma once

#include "tests/host_cuda/machine.h"

namespace penstock::host_cuda {

// Each adds a node to the graph that `stream` is captured into, and returns the error of the call.
cudaError_t capture_operation(CUstream_st& stream, const Operation& operation);
cudaError_t capture_kernel(CUstream_st& stream, const KernelRun& run);

}  // namespace penstock::host_cuda
