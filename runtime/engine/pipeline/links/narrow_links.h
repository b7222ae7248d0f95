// runtime/engine/pipeline/links/narrow_links.h -- links between stages that send fp32 tensors as
// bf16: half the bytes, for networks between hosts that are slower than the computation
// (pipeline.wire = "bf16").
//
// NarrowSendLink rounds each fp32 tensor to bf16 (8 significant bits) and gives it to a real link;
// NarrowReceiveLink widens what comes. Tensors of other types pass as they are. The rounding makes
// results depend on where the network is cut between ranks, but on nothing else: each tensor
// crosses a cut once. The base classes (runtime/system/comm/network.h) say what each call does.
#pragma once

#include <deque>
#include <memory>
#include <vector>

#include "runtime/system/comm/network.h"

namespace penstock {

class NarrowSendLink final : public SendLink {
 public:
  // `link` sends the bf16 tensors. Both arguments must outlive this.
  NarrowSendLink(SendLink& link, Device& device) : link_(link), device_(device) {}

  void send(std::span<const Tensor> message) override;
  void progress() override { link_.progress(); }
  void hand_over() override { link_.hand_over(); }
  void drain() override { link_.drain(); }
  void reserve(std::span<const TensorSpec> message, int count) override;

 private:
  SendLink& link_;
  Device& device_;
  std::vector<Tensor> narrow_;  // the tensors of one message; empty outside of send()
};

class NarrowReceiveLink final : public ReceiveLink {
 public:
  // `link` receives the bf16 tensors. Both arguments must outlive this.
  NarrowReceiveLink(ReceiveLink& link, Device& device) : link_(link), device_(device) {}

  void expect(std::span<const TensorSpec> specs) override;
  [[nodiscard]] int expected() const override { return link_.expected(); }
  void receive(std::span<Tensor> message) override;
  void progress() override { link_.progress(); }

 private:
  ReceiveLink& link_;
  Device& device_;
  // The messages announced by expect(), with the types that the stages use.
  std::deque<std::vector<TensorSpec>> expected_;
};

}  // namespace penstock
