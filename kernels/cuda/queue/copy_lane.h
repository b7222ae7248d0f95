// kernels/cuda/queue/copy_lane.h -- CopyLane: copies tensors from pinned memory to a GPU on a
// stream of its own, so that the copies run while the queue computes. start() and join() do what
// UploadLane (kernels/memory/upload_lane.h) says: start() returns at once, and its copies wait for
// all work that was issued before; a slot is the number of an upload under way, used again after
// its join(), until which neither tensor may change.
#pragma once

#include <vector>

#include "kernels/cuda/queue/queue.h"
#include "kernels/memory/upload_lane.h"

namespace penstock {

class CopyLane final : public UploadLane {
 public:
  // `slots`: how many uploads can be under way. `queue` must outlive the lane.
  CopyLane(size_t slots, Queue& queue) : queue_(queue), arrived_(slots) {}
  // Waits for the copies under way: memory that is still being written must not go back to the
  // pool. Nothing can be thrown here.
  ~CopyLane() override { (void)cudaStreamSynchronize(stream_.get()); }
  CopyLane(const CopyLane&) = delete;
  CopyLane& operator=(const CopyLane&) = delete;

  void start(size_t slot, std::span<Tensor> to, std::span<const Tensor> from) override {
    queue_.record(issued_);
    issued_.hold_back(stream_.get());
    for (size_t i = 0; i < to.size(); ++i) {
      PENSTOCK_CUDA(cudaMemcpyAsync(to[i].raw(), from[i].raw(), from[i].size_bytes(),
                                    cudaMemcpyHostToDevice, stream_.get()));
    }
    arrived_[slot].record(stream_.get());
  }
  void join(size_t slot) override { queue_.wait(arrived_[slot]); }

 private:
  Queue& queue_;
  Stream stream_;
  Event issued_;                // the last point of the queue that a copy had to wait for
  std::vector<Event> arrived_;  // by slot
};

}  // namespace penstock
