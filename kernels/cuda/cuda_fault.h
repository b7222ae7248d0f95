// kernels/cuda/cuda_fault.h -- which statuses of CUDA, cuBLAS and cuDNN mean that memory ran out,
// which that the device is missing or broken, and which that there is a bug. Pure tables.
#pragma once

#include <cublasLt.h>
#include <cuda_runtime_api.h>
#include <cudnn.h>

#include <string>

#include "kernels/fault.h"

namespace penstock {

// The fault of a status that is not success. A status that no table knows is a bug.
[[nodiscard]] Fault fault_of(cudaError_t status);
[[nodiscard]] Fault fault_of(cublasStatus_t status);
[[nodiscard]] Fault fault_of(cudnnStatus_t status);
// The fault of a failed library call, in view of the error that CUDA has noted as well (`noted`;
// cudaSuccess: none). A library often says only "execution failed" where CUDA knows that the memory
// is used up or the GPU has failed.
[[nodiscard]] Fault fault_beside(Fault library, cudaError_t noted);
// Returns what a user can do about the fault or, for a bug, what else to report; empty for
// Fault::Memory. It is the `advice` of fail_by() (kernels/fault.h). `status` is CUDA's own error,
// cudaSuccess where only a library failed.
[[nodiscard]] std::string advice_for(Fault fault, cudaError_t status);

}  // namespace penstock
