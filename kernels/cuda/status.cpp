#include "kernels/cuda/status.h"

#include <string>

#include "kernels/error.h"

namespace penstock {
namespace {

// The call without its arguments: those are our variables' names.
std::string name_of_call(const char* call) {
  const std::string text = call;
  return text.substr(0, text.find('('));
}

}  // namespace

void fail_cuda(const char* call, cudaError_t status) {
  const std::string what = name_of_call(call) + ": " + cudaGetErrorString(status) + " (" +
                           cudaGetErrorName(status) + ")";
  if (status == cudaErrorMemoryAllocation) {
    fail_resource(what + ": use more stages, smaller micro-batches or --recompute stage");
  }
  fail_resource("the CUDA device failed in " + what);
}

void fail_cublas(const char* call, cublasStatus_t status) {
  fail_resource("cuBLAS failed in " + name_of_call(call) + ": " + cublasLtGetStatusString(status) +
                " (" + cublasLtGetStatusName(status) + ")");
}

void fail_cudnn(const char* call, cudnnStatus_t status) {
  fail_resource("cuDNN failed in " + name_of_call(call) + ": " + cudnnGetErrorString(status));
}

}  // namespace penstock
