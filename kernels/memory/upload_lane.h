// kernels/memory/upload_lane.h -- UploadLane: copies tensors from the host to a device while its
// ops run. Each upload has a slot, a number below that of Transfers::make_upload_lane(), by which
// join() finds it; the caller uses the numbers again and again.
#pragma once

#include <cstddef>
#include <span>

#include "kernels/tensor.h"

namespace penstock {

class UploadLane {
 public:
  virtual ~UploadLane() = default;
  // Begins to copy the whole of each from[i], a tensor in Device::host_memory(), to to[i], and
  // returns at once. The copy starts after the ops that have been issued so far, since they may
  // still use the memory of to[i]. The caller must call join(slot) before it issues an op that uses
  // a to[i]; until an op issued after join() has ended, the contents of `from` must stay as they
  // are, and no tensor of `from` or `to` may be released. A slot is started again only after its
  // join().
  virtual void start(size_t slot, std::span<Tensor> to, std::span<const Tensor> from) = 0;
  // Makes the ops that are issued from here on wait for the copies of the last start() of that
  // slot. The host does not wait.
  virtual void join(size_t slot) = 0;
};

}  // namespace penstock
