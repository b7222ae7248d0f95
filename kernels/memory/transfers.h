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

  // Copy the first size_bytes of a tensor of this device from or to host memory, in issue order
  // with the ops. The host's bytes have been read or written when the call returns.
  virtual void copy_from_host(Tensor& to, const void* from, size_t size_bytes) = 0;
  virtual void copy_to_host(void* to, const Tensor& from, size_t size_bytes) = 0;
  // Copies the whole of `from`, a tensor in host_memory(), in issue order with the ops, without
  // waiting: `from` must stay as it is until the next synchronize() or copy_to_host().
  virtual void upload(Tensor& to, const Tensor& from) {
    copy_from_host(to, from.raw(), from.size_bytes());
  }
  // Makes a lane for uploads that run beside the ops (upload_lane.h). The caller owns the lane; it
  // must not outlive this device. `slots` is the number of uploads that may be under way at a time:
  // a slot is a number, 0 to slots - 1, that the caller gives to an upload and may give to another
  // one once its join() has been called. A slot holds no memory. A device that has no copies beside
  // its ops makes them in the order of the ops, as upload() does.
  [[nodiscard]] virtual std::unique_ptr<UploadLane> make_upload_lane(size_t slots);
  // Returns when all work issued so far has ended.
  virtual void synchronize() = 0;
};

}  // namespace penstock
