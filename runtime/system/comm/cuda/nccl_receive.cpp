// runtime/system/comm/cuda/nccl_receive.cpp -- the receiving end of an edge by NCCL: see
// nccl_send.cpp.
//
// The tensors of a message are taken when it is expected, a point of the program; kernels issued
// before may still read that memory for its former owner, so the receive waits for the point that
// computing had then reached. It is issued in receive() only: the host gets there long before the
// device does, so no time is lost, and until then no kernel of NCCL waits on the GPU for another
// rank while this one loads code or takes memory, which may have to wait for all kernels.
#include <deque>
#include <utility>
#include <vector>

#include "kernels/cuda/cuda_device.h"
#include "kernels/error.h"
#include "runtime/system/comm/accelerated.h"
#include "runtime/system/comm/cuda/nccl_edge.h"
#include "runtime/system/comm/cuda/watched_device.h"

namespace penstock {
namespace {

class NcclReceiveLink final : public ReceiveLink, private Poller {
 public:
  NcclReceiveLink(EdgeComm edge, CudaDevice& device, Pollers& pollers)
      : device_(device),
        queue_(device.queue()),
        edge_(std::move(edge), "receiving ", device),
        entry_(pollers, *this),
        watched_(queue_, pollers) {}

  void expect(std::span<const TensorSpec> specs) override {
    Message& message = expected_.emplace_back(take());
    for (const TensorSpec& spec : specs) {
      message.tensors.push_back(device_.empty(spec.shape, spec.dtype, Purpose::Activations));
    }
    queue_.record(message.free);
  }
  [[nodiscard]] int expected() const override { return static_cast<int>(expected_.size()); }

  void receive(std::span<Tensor> message) override {
    if (expected_.empty() || expected_.front().tensors.size() != message.size()) {
      fail_internal("a message of " + std::to_string(message.size()) +
                    " tensors is taken from a link that expects " +
                    (expected_.empty() ? "none" : "another"));
    }
    Message& oldest = expected_.front();
    oldest.free.hold_back(edge_.stream());
    edge_.receive(oldest.tensors);
    oldest.arrived.record(edge_.stream());
    queue_.wait(oldest.arrived);
    std::move(oldest.tensors.begin(), oldest.tensors.end(), message.begin());
    oldest.tensors.clear();
    idle_.push_back(std::move(oldest));  // its events can be used again: the streams wait already
    expected_.pop_front();
  }
  void progress() override { poll(); }

 private:
  struct Message {
    std::vector<Tensor> tensors;
    Event free, arrived;
  };

  Message take() {
    if (idle_.empty()) return Message();
    Message message = std::move(idle_.back());
    idle_.pop_back();
    return message;
  }
  void poll() override { edge_.look(); }
  [[nodiscard]] std::string awaited() const override { return edge_.awaited(); }

  CudaDevice& device_;
  Queue& queue_;
  NcclEdge edge_;
  std::deque<Message> expected_;
  std::vector<Message> idle_;
  PollerEntry entry_;
  WatchedDevice watched_;
};

}  // namespace

std::unique_ptr<ReceiveLink> nccl_receive(EdgeComm edge, Device& device, Pollers& pollers) {
  return std::make_unique<NcclReceiveLink>(std::move(edge), as_cuda(device), pollers);
}

}  // namespace penstock
