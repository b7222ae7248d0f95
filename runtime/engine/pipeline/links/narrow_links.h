// runtime/engine/pipeline/links/narrow_links.h -- links over which fp32 tensors travel as bf16
// (pipeline.wire): half the bytes, for links that are slower than the computation.
//
// What arrives is the sent number rounded to 8 significant bits, so results also depend on where
// the network is cut between ranks, but on nothing else: each tensor crosses a cut once, and its
// receiver keeps it as it came. Tensors of other types pass as they are.
#pragma once

#include <deque>
#include <memory>
#include <vector>

#include "runtime/system/comm/network.h"

namespace penstock {

class NarrowSendLink final : public SendLink {
 public:
  // `link` carries the narrowed tensors. Both arguments must outlive this.
  NarrowSendLink(SendLink& link, Device& device) : link_(link), device_(device) {}

  void send(std::span<const Tensor> message) override;
  void progress() override { link_.progress(); }
  void hand_over() override { link_.hand_over(); }
  void drain() override { link_.drain(); }
  void reserve(std::span<const TensorSpec> message, int count) override;

 private:
  SendLink& link_;
  Device& device_;
  std::vector<Tensor> narrow_;  // of one message, empty between two
};

class NarrowReceiveLink final : public ReceiveLink {
 public:
  // `link` brings the narrowed tensors. Both arguments must outlive this.
  NarrowReceiveLink(ReceiveLink& link, Device& device) : link_(link), device_(device) {}

  void expect(std::span<const TensorSpec> specs) override;
  [[nodiscard]] int expected() const override { return link_.expected(); }
  void receive(std::span<Tensor> message) override;
  void progress() override { link_.progress(); }

 private:
  ReceiveLink& link_;
  Device& device_;
  std::deque<std::vector<TensorSpec>> expected_;  // as the stages have them
};

}  // namespace penstock
