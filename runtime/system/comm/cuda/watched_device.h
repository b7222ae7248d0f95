// runtime/system/comm/cuda/watched_device.h -- WatchedDevice: while it lives, the host polls
// whenever it waits for its device. An end of a link or a group of sums has one: a copy that has
// ended is given to MPI, a communicator that has failed is noticed, and a message that never comes
// ends the wait by Error(Peer), after the pollers' limit.
#pragma once

#include <string>

#include "kernels/cuda/queue/queue.h"
#include "runtime/system/comm/pollers.h"

namespace penstock {

class WatchedDevice final : public HostWait {
 public:
  // Queue and pollers must outlive the object.
  WatchedDevice(Queue& queue, Pollers& pollers) : queue_(queue), pollers_(pollers) {
    queue_.host_waits().add(*this);
  }
  ~WatchedDevice() override { queue_.host_waits().drop(*this); }
  WatchedDevice(const WatchedDevice&) = delete;
  WatchedDevice& operator=(const WatchedDevice&) = delete;

 private:
  void until(const std::function<bool()>& ended) override {
    pollers_.wait_until(ended, "waiting for the GPU");
  }

  Queue& queue_;
  Pollers& pollers_;
};

}  // namespace penstock
