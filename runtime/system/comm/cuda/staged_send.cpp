// runtime/system/comm/cuda/staged_send.cpp -- the sending end of an edge whose messages leave from
// a copy: in pinned host memory for any MPI, in shareable device memory for one that reads that. On
// the wire it is the plain MPI end, so the neighbour may be a CPU.
//
// A message is copied on the link's own stream, behind what computes it, and is given to MPI by
// poll() once the copy has ended. What was sent is released when the second next message is sent:
// at a point of the program, so that every step finds its tensors at the same addresses, and late
// enough that the copy, which computing then has to wait for, has normally ended long ago.
#include <deque>
#include <memory>
#include <utility>
#include <vector>

#include "kernels/cuda/cuda_device.h"
#include "runtime/system/comm/accelerated.h"
#include "runtime/system/comm/cuda/watched_device.h"

namespace penstock {
namespace {

constexpr size_t kHeld = 2;  // most messages whose tensors are held at a time

class StagedSendLink final : public SendLink, private Poller {
 public:
  StagedSendLink(std::unique_ptr<MpiSendLink> inner, CudaDevice& device, Memory& twins,
                 Pollers& pollers)
      : inner_(std::move(inner)),
        queue_(device.queue()),
        twins_(twins),
        pollers_(pollers),
        entry_(pollers, *this),
        watched_(queue_, pollers) {}

  void send(std::span<const Tensor> message) override {
    if (messages_.size() - released_ == kHeld) release_one();
    Message& entry = *messages_.emplace_back(take());
    queue_.record(entry.made);
    entry.made.hold_back(stream_.get());
    for (const Tensor& tensor : message) copy(tensor, entry);
    entry.copied.record(stream_.get());
    poll();
  }
  void progress() override { poll(); }
  void hand_over() override {
    pollers_.wait_until([this] { return handed_ == messages_.size(); }, inner_->context());
    // The messages are released here as well, so the next step starts with the same free memory as
    // this one.
    while (released_ < messages_.size()) release_one();
  }
  void drain() override {
    hand_over();
    pollers_.wait_until([this] { return inner_->idle(); }, inner_->context());
  }
  void reserve(std::span<const TensorSpec> message, int count) override {
    inner_->reserve(message, count);
  }

 private:
  struct Message {
    std::vector<Tensor> tensors;  // until released
    std::vector<Tensor> twins;    // until handed to MPI, which then holds them
    Event made, copied;
  };

  std::unique_ptr<Message> take() {
    if (idle_.empty()) return std::make_unique<Message>();
    std::unique_ptr<Message> message = std::move(idle_.back());
    idle_.pop_back();
    return message;
  }

  void copy(const Tensor& tensor, Message& entry) {
    const size_t size_bytes = tensor.size_bytes();
    const Tensor twin(twins_.take(size_bytes, Purpose::Communication), tensor.shape(),
                      tensor.dtype());
    if (size_bytes > 0) {
      PENSTOCK_CUDA(
          cudaMemcpyAsync(twin.raw(), tensor.raw(), size_bytes, cudaMemcpyDefault, stream_.get()));
    }
    entry.tensors.push_back(tensor);
    entry.twins.push_back(twin);
  }

  void release_one() {
    Message& message = *messages_[released_++];
    queue_.wait(message.copied);
    message.tensors.clear();
    forget();
  }

  void poll() override {
    while (handed_ < messages_.size() && messages_[handed_]->copied.passed()) {
      Message& message = *messages_[handed_++];
      inner_->send(message.twins);
      message.twins.clear();
    }
    inner_->progress();
    forget();
  }

  // Forgets the messages that are both handed over and released.
  void forget() {
    while (handed_ > 0 && released_ > 0) {
      idle_.push_back(std::move(messages_.front()));
      messages_.pop_front();
      --handed_;
      --released_;
    }
  }

  std::unique_ptr<MpiSendLink> inner_;
  Queue& queue_;
  Memory& twins_;
  Pollers& pollers_;
  Stream stream_;
  std::deque<std::unique_ptr<Message>> messages_;  // in the order of sending
  size_t handed_ = 0, released_ = 0;  // how many, from the front: handed to MPI; released
  std::vector<std::unique_ptr<Message>> idle_;
  PollerEntry entry_;
  WatchedDevice watched_;
};

}  // namespace

std::unique_ptr<SendLink> staged_send(std::unique_ptr<MpiSendLink> inner, Device& device,
                                      Memory& twins, Pollers& pollers) {
  return std::make_unique<StagedSendLink>(std::move(inner), as_cuda(device), twins, pollers);
}

}  // namespace penstock
