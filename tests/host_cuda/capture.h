// tests/host_cuda/capture.h -- streams whose operations go into a graph instead.
#pragma once

#include "tests/host_cuda/machine.h"

namespace penstock::host_cuda {

cudaError_t capture_operation(CUstream_st& stream, const Operation& operation);
cudaError_t capture_kernel(CUstream_st& stream, const KernelRun& run);

}  // namespace penstock::host_cuda
