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
  // Both copies have done with the host's bytes when they return.
  virtual void copy_to_host(void* to, const Tensor& from, size_t size_bytes) = 0;
  // Copies the whole of `from`, a tensor in host_memory(), in issue order with the ops, without
  // waiting: `from` must stay as it is until the next synchronize() or copy_to_host().
  virtual void upload(Tensor& to, const Tensor& from) {
    copy_from_host(to, from.raw(), from.size_bytes());
  }
  // A lane for copies like upload()'s that the ops issued after them need not wait for.
  [[nodiscard]] virtual std::unique_ptr<UploadLane> make_upload_lane(size_t slots);
  // A lane for copies like upload()'s that the ops issued after them need not wait for.
  virtual void synchronize() = 0;
};

}  // namespace penstock
