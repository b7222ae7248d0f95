// runtime/system/comm/cuda/versions.cpp -- see runtime/system/comm/cuda_versions.h. Needs no device
// and no driver.
#include <cublasLt.h>
#include <cuda_runtime_api.h>
#include <cudnn.h>
#include <nccl.h>

#include "runtime/system/comm/cuda_versions.h"

namespace penstock {
namespace {

// Returns a version as text, for example 2.28.9 for 22809: cuBLAS, cuDNN 9 and NCCL pack a version
// into such a number.
std::string unpacked(size_t version) {
  return std::to_string(version / 10000) + "." + std::to_string(version % 10000 / 100) + "." +
         std::to_string(version % 100);
}

std::string cuda_text(int version) {  // 13000 gives 13.0
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

std::string line(const std::string& library, const std::string& there,
                 const std::string& compiled) {
  return library + " " + there + " (compiled with " + compiled + ")";
}

}  // namespace

std::string nccl_version() {
  int version = 0;
  if (ncclGetVersion(&version) != ncclSuccess) return "of unknown version";
  return unpacked(static_cast<size_t>(version));
}

std::vector<std::string> cuda_library_versions() {
  int runtime = 0;
  int driver = 0;  // stays 0 without a driver
  (void)cudaRuntimeGetVersion(&runtime);
  (void)cudaDriverGetVersion(&driver);
  return {line("CUDA runtime", cuda_text(runtime), cuda_text(CUDART_VERSION)),
          driver == 0 ? "no driver" : "driver for CUDA up to " + cuda_text(driver),
          line("cuBLASLt", unpacked(cublasLtGetVersion()), unpacked(CUBLAS_VERSION)),
          line("cuDNN", unpacked(cudnnGetVersion()), unpacked(CUDNN_VERSION)),
          line("NCCL", nccl_version(), unpacked(NCCL_VERSION_CODE))};
}

}  // namespace penstock
