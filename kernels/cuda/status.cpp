#include "kernels/cuda/status.h"

#include <string>

#include "kernels/cuda/cuda_fault.h"

namespace penstock {
namespace {

// Returns the call without its arguments, because these are only names of our variables.
std::string name_of_call(const char* call) {
  const std::string text = call;
  return text.substr(0, text.find('('));
}

std::string words_of(cudaError_t status) {
  return std::string(cudaGetErrorString(status)) + " (" + cudaGetErrorName(status) + ")";
}

[[noreturn]] void fail_library(Fault fault, const std::string& what) {
  const cudaError_t noted = cudaPeekAtLastError();
  const std::string beside = noted == cudaSuccess ? "" : "; CUDA says " + words_of(noted);
  const Fault all_in_all = fault_beside(fault, noted);
  fail_by(all_in_all, what + beside, advice_for(all_in_all, noted));
}

}  // namespace

void fail_cuda(const char* call, cudaError_t status) {
  fail_by(fault_of(status),
          "the CUDA device failed in " + name_of_call(call) + ": " + words_of(status),
          advice_for(fault_of(status), status));
}

void fail_cublas(const char* call, cublasStatus_t status) {
  fail_library(fault_of(status), "cuBLAS failed in " + name_of_call(call) + ": " +
                                     cublasLtGetStatusString(status) + " (" +
                                     cublasLtGetStatusName(status) + ")");
}

void fail_cudnn(const char* call, cudnnStatus_t status) {
  fail_library(fault_of(status), "cuDNN failed in " + name_of_call(call) + ": " +
                                     cudnnGetErrorString(status) + " (" +
                                     std::to_string(static_cast<int>(status)) + ")");
}

}  // namespace penstock
