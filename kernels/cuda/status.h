// kernels/cuda/status.h -- checks the status of each call of CUDA, cuBLAS or cuDNN: a failure
// becomes the Error that cuda_fault.h says it is.
#pragma once

#include <cublasLt.h>
#include <cuda_runtime_api.h>
#include <cudnn.h>

namespace penstock {

// Throw the Error for a failed call (`call` is its text) by the table of cuda_fault.h: Resource
// where memory ran out or the GPU is missing or broken, Internal for a bug. For example "out of
// memory: the CUDA device failed in cudaMalloc: ..." (Resource), "... an illegal memory access was
// encountered (cudaErrorIllegalAddress): this is a bug, ..." (Internal).
[[noreturn]] void fail_cuda(const char* call, cudaError_t status);
[[noreturn]] void fail_cublas(const char* call, cublasStatus_t status);
[[noreturn]] void fail_cudnn(const char* call, cudnnStatus_t status);

inline void check_status(const char* call, cudaError_t status) {
  if (status != cudaSuccess) fail_cuda(call, status);
}
inline void check_status(const char* call, cublasStatus_t status) {
  if (status != CUBLAS_STATUS_SUCCESS) fail_cublas(call, status);
}
inline void check_status(const char* call, cudnnStatus_t status) {
  if (status != CUDNN_STATUS_SUCCESS) fail_cudnn(call, status);
}

}  // namespace penstock

#define PENSTOCK_CUDA(call) ::penstock::check_status(#call, call)
