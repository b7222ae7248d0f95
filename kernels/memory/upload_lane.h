// kernels/memory/upload_lane.h -- UploadLane: copies tensors from the host to a device while its
// ops run, in numbered slots that are used again and again.
#pragma once

#include <cstddef>
#include <span>

#include "kernels/tensor.h"

namespace penstock {

class UploadLane {
 public:
  virtual ~UploadLane() = default;
  // Copies the whole of from[i], tensors in Device::host_memory(), to to[i], after the ops that
  // have been issued so far: they may still use that memory. Until an op issued after join() of the
  // same slot has ended, `from` must stay as it is and `to` must not be used nor released.
  virtual void start(size_t slot, std::span<Tensor> to, std::span<const Tensor> from) = 0;
  // Makes the ops that are issued from here on wait for what the last start() of that slot copies.
  virtual void join(size_t slot) = 0;
};

}  // namespace penstock
