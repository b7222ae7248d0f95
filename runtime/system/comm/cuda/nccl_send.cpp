// runtime/system/comm/cuda/nccl_send.cpp -- the sending end of an edge by NCCL: from the tensor to
// the other GPU without a copy in between.
//
// A message leaves on the link's own stream, behind what computes it. Its tensors are held until
// `window` more messages have been sent, and then computing waits until it has left, which normally
// was long ago: released at a point of the program, so that every step finds its tensors at the
// same addresses. The schedule says which window cannot deadlock
// (runtime/planning/schedule/proof/window.h).
#include <deque>
#include <utility>
#include <vector>

#include "kernels/cuda/cuda_device.h"
#include "runtime/system/comm/accelerated.h"
#include "runtime/system/comm/cuda/nccl_edge.h"
#include "runtime/system/comm/cuda/watched_device.h"

namespace penstock {
namespace {

class NcclSendLink final : public SendLink, private Poller {
 public:
  NcclSendLink(EdgeComm edge, CudaDevice& device, int window, Pollers& pollers)
      : queue_(device.queue()),
        pollers_(pollers),
        window_(static_cast<size_t>(window)),
        edge_(std::move(edge), "sending ", device),
        entry_(pollers, *this),
        watched_(queue_, pollers) {}

  void send(std::span<const Tensor> message) override {
    if (sent_.size() == window_) release_one();
    Message& entry = sent_.emplace_back(take());
    entry.tensors.assign(message.begin(), message.end());
    queue_.record(entry.made);
    entry.made.hold_back(edge_.stream());
    edge_.send(message);
    entry.left.record(edge_.stream());
  }
  void progress() override { poll(); }
  // Releases the last messages, so the next step starts with the same free memory as this one.
  // NCCL's kernels, which read the messages, are in their stream already.
  void hand_over() override {
    while (!sent_.empty()) release_one();
  }
  void drain() override {
    pollers_.wait_until([this] { return sent_.empty() || sent_.back().left.passed(); },
                        edge_.context());
    while (!sent_.empty()) forget_one();
  }
  void reserve(std::span<const TensorSpec> /*message*/, int /*count*/) override {}

 private:
  struct Message {
    std::vector<Tensor> tensors;
    Event made, left;
  };

  Message take() {
    if (idle_.empty()) return Message();
    Message message = std::move(idle_.back());
    idle_.pop_back();
    return message;
  }
  void release_one() {
    queue_.wait(sent_.front().left);
    forget_one();
  }
  void forget_one() {
    sent_.front().tensors.clear();
    idle_.push_back(std::move(sent_.front()));
    sent_.pop_front();
  }
  void poll() override { edge_.look(); }
  [[nodiscard]] std::string awaited() const override { return edge_.awaited(); }

  Queue& queue_;
  Pollers& pollers_;
  size_t window_;
  NcclEdge edge_;
  std::deque<Message> sent_;
  std::vector<Message> idle_;
  PollerEntry entry_;
  WatchedDevice watched_;
};

}  // namespace

std::unique_ptr<SendLink> nccl_send(EdgeComm edge, Device& device, int window, Pollers& pollers) {
  return std::make_unique<NcclSendLink>(std::move(edge), as_cuda(device), window, pollers);
}

}  // namespace penstock
