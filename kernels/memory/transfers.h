// kernels/memory/transfers.h -- Transfers: copies bytes between the host and one device, in
// issue order with the device's ops.
#pragma once

#include <cstddef>
#include <memory>

#include "kernels/memory/upload_lane.h"
#include "kernels/tensor.h"

namespace penstock {

class Transfers {
 public:
  virtual ~Transfers() = default;

  // Copies size_bytes between host memory and this device's, in issue order with the ops. The
  // host's bytes have been read or written when the call returns.
  virtual void copy_from_host(Tensor& to, const void* from, size_t size_bytes) = 0;
  virtual void copy_to_host(void* to, const Tensor& from, size_t size_bytes) = 0;
  // Copies the whole of `from`, a tensor in host_memory(), in issue order with the ops, without
  // waiting: `from` must stay as it is until the next synchronize() or copy_to_host().
  virtual void upload(Tensor& to, const Tensor& from) {
    copy_from_host(to, from.raw(), from.size_bytes());
  }
  // A lane of that many slots: copies from the host for which ops wait only after
  // UploadLane::join().
  [[nodiscard]] virtual std::unique_ptr<UploadLane> make_upload_lane(size_t slots);
  // Returns when all work issued so far has ended.
  virtual void synchronize() = 0;
};

}  // namespace penstock
