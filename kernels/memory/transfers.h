// kernels/memory/transfers.h -- Transfers: bytes between the host and one device, in issue order
// with its ops.
#pragma once

#include <cstddef>
#include <memory>

#include "kernels/memory/upload_lane.h"
#include "kernels/tensor.h"

namespace penstock {

class Transfers {
 public:
  virtual ~Transfers() = default;

  // Copies size_bytes between host memory and this device's, in issue order with the ops.
  virtual void copy_from_host(Tensor& to, const void* from, size_t size_bytes) = 0;
  // They have done with the host's bytes when they return.
  virtual void copy_to_host(void* to, const Tensor& from, size_t size_bytes) = 0;
  // The whole of `from`, a tensor in host_memory(), in issue order with the ops, without waiting:
  // `from` must stay as it is until the next synchronize() or copy_to_host().
  virtual void upload(Tensor& to, const Tensor& from) {
    copy_from_host(to, from.raw(), from.size_bytes());
  }
  // Copies like upload()'s that need not wait for the ops issued before, nor they for these.
  [[nodiscard]] virtual std::unique_ptr<UploadLane> make_upload_lane(size_t slots);
  // Returns when all work issued so far has ended.
  virtual void synchronize() = 0;
};

}  // namespace penstock
