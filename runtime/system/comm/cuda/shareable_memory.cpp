// runtime/system/comm/cuda/shareable_memory.cpp -- device memory that an MPI which reads GPUs can
// share with the other processes of the host.
#include "kernels/cuda/status.h"
#include "runtime/system/comm/accelerated.h"

namespace penstock {
namespace {

class ShareableSource final : public MemorySource {
 public:
  std::byte* obtain(size_t size_bytes) override {
    void* data = nullptr;
    const cudaError_t status = cudaMalloc(&data, size_bytes);
    if (status == cudaErrorMemoryAllocation) {
      // This clears the error. Memory reports it, so a later check must not find it.
      (void)cudaGetLastError();
      return nullptr;
    }
    check_status("cudaMalloc", status);
    return static_cast<std::byte*>(data);
  }
  void give_back(std::byte* data, size_t /*size_bytes*/) override { (void)cudaFree(data); }
  [[nodiscard]] std::string name() const override { return "the CUDA device"; }
};

}  // namespace

std::unique_ptr<MemorySource> shareable_memory_source() {
  return std::make_unique<ShareableSource>();
}

}  // namespace penstock
