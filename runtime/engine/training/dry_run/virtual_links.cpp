#include "runtime/engine/training/dry_run/virtual_links.h"

#include <algorithm>
#include <utility>

namespace penstock {
namespace {

// The kinds of mail about an edge.
int64_t arrivals_of(const VirtualEdge& edge) {
  return 2 * edge.number;
}
int64_t receipts_of(const VirtualEdge& edge) {
  return 2 * edge.number + 1;
}

// How long a message holds its link.
double seconds_of(std::span<const Tensor> message, const LinkTimes& times) {
  double bytes = 0;
  for (const Tensor& tensor : message) bytes += static_cast<double>(tensor.size_bytes());
  return bytes * times.seconds_per_byte;
}

class VirtualSend final : public SendLink {
 public:
  VirtualSend(std::unique_ptr<SendLink> real, const VirtualEdge& edge)
      : real_(std::move(real)), edge_(edge) {}

  void send(std::span<const Tensor> message) override {
    VirtualClock& clock = edge_.clock;
    if (edge_.window > 0 && sent_++ >= edge_.window) {
      clock.wait_until(edge_.mail.take(edge_.peer, receipts_of(edge_)));
    }
    clock.advance(edge_.times.overhead);
    double through = clock.now();
    if (!edge_.times.receiver_copies) {
      through = free_at_ = std::max(through, free_at_) + seconds_of(message, edge_.times);
    }
    edge_.mail.post(edge_.peer, arrivals_of(edge_), through + edge_.times.latency);
    real_->send(message);
  }
  void progress() override { real_->progress(); }
  void hand_over() override { real_->hand_over(); }
  void drain() override { real_->drain(); }
  void reserve(std::span<const TensorSpec> message, int count) override {
    real_->reserve(message, count);
  }

 private:
  std::unique_ptr<SendLink> real_;
  VirtualEdge edge_;
  int64_t sent_ = 0;
  double free_at_ = 0;  // when the last message sent is through
};

class VirtualReceive final : public ReceiveLink {
 public:
  VirtualReceive(std::unique_ptr<ReceiveLink> real, const VirtualEdge& edge)
      : real_(std::move(real)), edge_(edge) {}

  void expect(std::span<const TensorSpec> specs) override { real_->expect(specs); }
  [[nodiscard]] int expected() const override { return real_->expected(); }
  void receive(std::span<Tensor> message) override {
    real_->receive(message);
    VirtualClock& clock = edge_.clock;
    clock.wait_until(edge_.mail.take(edge_.peer, arrivals_of(edge_)));
    clock.advance(edge_.times.overhead);
    if (edge_.times.receiver_copies) clock.advance(seconds_of(message, edge_.times));
    if (edge_.window > 0) edge_.mail.post(edge_.peer, receipts_of(edge_), clock.now());
  }
  void progress() override { real_->progress(); }

 private:
  std::unique_ptr<ReceiveLink> real_;
  VirtualEdge edge_;
};

}  // namespace

std::unique_ptr<SendLink> make_virtual_send(std::unique_ptr<SendLink> real,
                                            const VirtualEdge& edge) {
  return std::make_unique<VirtualSend>(std::move(real), edge);
}

std::unique_ptr<ReceiveLink> make_virtual_receive(std::unique_ptr<ReceiveLink> real,
                                                  const VirtualEdge& edge) {
  return std::make_unique<VirtualReceive>(std::move(real), edge);
}

}  // namespace penstock
