// runtime/system/comm/cuda/staged_receive.cpp -- the receiving end of an edge whose messages arrive
// in a copy, which MPI fills: see staged_send.cpp.
//
// The tensors of a message are taken when it is expected, a point of the program. Kernels issued
// before may still read that memory for its former owner, so the copy into it waits for the point
// that computing had then reached. The copy starts as soon as poll() sees the message, which may be
// long before it is asked for.
#include <deque>
#include <memory>
#include <utility>
#include <vector>

#include "kernels/cuda/cuda_device.h"
#include "kernels/error.h"
#include "runtime/system/comm/accelerated.h"
#include "runtime/system/comm/cuda/watched_device.h"

namespace penstock {
namespace {

// This is the greatest number of received messages whose copies to the device have not ended. It
// says how far the host can run ahead of the device, and so how much memory the messages take.
constexpr size_t kAhead = 4;

const std::string kUploading = "waiting for the GPU to take messages";

class StagedReceiveLink final : public ReceiveLink, private Poller {
 public:
  StagedReceiveLink(std::unique_ptr<MpiReceiveLink> inner, CudaDevice& device, Pollers& pollers)
      : inner_(std::move(inner)),
        device_(device),
        queue_(device.queue()),
        pollers_(pollers),
        entry_(pollers, *this),
        watched_(queue_, pollers) {}

  void expect(std::span<const TensorSpec> specs) override {
    Message& message = *expected_.emplace_back(take());
    for (const TensorSpec& spec : specs) {
      message.tensors.push_back(device_.empty(spec.shape, spec.dtype, Purpose::Activations));
    }
    queue_.record(message.free);
    inner_->expect(specs);
  }
  [[nodiscard]] int expected() const override { return static_cast<int>(expected_.size()); }

  void receive(std::span<Tensor> message) override {
    if (expected_.empty() || expected_.front()->tensors.size() != message.size()) {
      fail_internal("a message of " + std::to_string(message.size()) +
                    " tensors is taken from a link that expects " +
                    (expected_.empty() ? "none" : "another"));
    }
    pollers_.wait_until([this] { return copying_ > 0; }, inner_->context());
    std::unique_ptr<Message>& oldest = expected_.front();
    queue_.wait(oldest->copied);
    std::move(oldest->tensors.begin(), oldest->tensors.end(), message.begin());
    oldest->tensors.clear();
    received_.push_back(std::move(oldest));
    expected_.pop_front();
    --copying_;
    pollers_.wait_until([this] { return received_.size() <= kAhead; }, kUploading);
  }
  void progress() override { poll(); }

 private:
  struct Message {
    std::vector<Tensor> tensors;
    std::vector<Tensor> twins;  // on the host, from arrival until copied
    Event free, copied;
  };

  std::unique_ptr<Message> take() {
    if (idle_.empty()) return std::make_unique<Message>();
    std::unique_ptr<Message> message = std::move(idle_.back());
    idle_.pop_back();
    return message;
  }

  void poll() override {
    while (copying_ < expected_.size() && inner_->arrived()) copy(*expected_[copying_++]);
    while (!received_.empty() && received_.front()->copied.passed()) {
      received_.front()->twins.clear();
      idle_.push_back(std::move(received_.front()));
      received_.pop_front();
    }
  }

  void copy(Message& message) {
    message.twins.resize(message.tensors.size());
    inner_->receive(message.twins);
    message.free.hold_back(stream_.get());
    for (size_t i = 0; i < message.tensors.size(); ++i) {
      const Tensor& twin = message.twins[i];
      if (twin.size_bytes() == 0) continue;
      PENSTOCK_CUDA(cudaMemcpyAsync(message.tensors[i].raw(), twin.raw(), twin.size_bytes(),
                                    cudaMemcpyDefault, stream_.get()));
    }
    message.copied.record(stream_.get());
  }

  std::unique_ptr<MpiReceiveLink> inner_;
  CudaDevice& device_;
  Queue& queue_;
  Pollers& pollers_;
  Stream stream_;
  std::deque<std::unique_ptr<Message>> expected_;
  size_t copying_ = 0;  // how many of expected_, from its front, have come and are being copied
  std::deque<std::unique_ptr<Message>> received_;  // taken, but their copies may not have ended
  std::vector<std::unique_ptr<Message>> idle_;
  PollerEntry entry_;
  WatchedDevice watched_;
};

}  // namespace

std::unique_ptr<ReceiveLink> staged_receive(std::unique_ptr<MpiReceiveLink> inner, Device& device,
                                            Pollers& pollers) {
  return std::make_unique<StagedReceiveLink>(std::move(inner), as_cuda(device), pollers);
}

}  // namespace penstock
