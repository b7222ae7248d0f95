#include "kernels/cuda/queue/memory_source.h"

#include "kernels/cuda/status.h"

namespace penstock {
namespace {

// Returns null if memory has run out; Memory then tells the user so. Throws for any other failure.
std::byte* obtained(const char* call, cudaError_t status, void* data) {
  if (status == cudaErrorMemoryAllocation) {
    (void)cudaGetLastError();  // else the next check of a launch would find this error
    return nullptr;
  }
  check_status(call, status);
  return static_cast<std::byte*>(data);
}

class DeviceSource final : public MemorySource {
 public:
  explicit DeviceSource(Queue& queue) : queue_(queue) {}
  std::byte* obtain(size_t size_bytes) override {
    void* data = nullptr;
    const cudaError_t status = cudaMallocAsync(&data, size_bytes, queue_.stream());
    std::byte* const memory = obtained("cudaMallocAsync", status, data);
    // Memory gives back cached blocks next, so the pending ops that use these blocks have to be
    // issued first.
    if (memory == nullptr) queue_.flush();
    return memory;
  }
  void give_back(std::byte* data, size_t /*size_bytes*/) override {
    (void)cudaFreeAsync(data, queue_.stream());  // called where nothing can be thrown
  }
  [[nodiscard]] std::string name() const override { return "the CUDA device"; }

 private:
  Queue& queue_;
};

class PinnedSource final : public MemorySource {
 public:
  std::byte* obtain(size_t size_bytes) override {
    void* data = nullptr;
    const cudaError_t status = cudaHostAlloc(&data, size_bytes, cudaHostAllocPortable);
    return obtained("cudaHostAlloc", status, data);
  }
  void give_back(std::byte* data, size_t /*size_bytes*/) override { (void)cudaFreeHost(data); }
  [[nodiscard]] std::string name() const override { return "pinned host memory"; }
};

}  // namespace

std::unique_ptr<MemorySource> device_memory_source(Queue& queue) {
  return std::make_unique<DeviceSource>(queue);
}

std::unique_ptr<MemorySource> pinned_memory_source() {
  return std::make_unique<PinnedSource>();
}

}  // namespace penstock
