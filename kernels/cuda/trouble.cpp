#include "kernels/cuda/trouble.h"

#include <string>
#include <utility>

#include "kernels/error.h"

namespace penstock {

Trouble::Trouble() {
  void* host = nullptr;
  PENSTOCK_CUDA(cudaHostAlloc(&host, sizeof(Finding), cudaHostAllocMapped));
  on_host_ = new (host) Finding;
  void* device = nullptr;
  PENSTOCK_CUDA(cudaHostGetDevicePointer(&device, host, 0));
  on_device_ = static_cast<Finding*>(device);
}

Trouble::~Trouble() {
  (void)cudaFreeHost(on_host_);  // nothing can be thrown here
}

void Trouble::check() {
  if (on_host_->kind == Finding::None) return;
  const Finding found = std::exchange(*on_host_, Finding{});
  if (found.kind == Finding::TokenOutsideTable) {
    fail_input("token id " + std::to_string(found.value) + " is outside the embedding table of " +
               std::to_string(found.limit) + " rows");
  }
  fail_input("label " + std::to_string(found.value) +
             " is not below the number of classes of the network, " + std::to_string(found.limit));
}

}  // namespace penstock
