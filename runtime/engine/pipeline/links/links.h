// runtime/engine/pipeline/links/links.h -- Links: the connections of one rank to the ranks that
// hold neighbouring stages, for activations forward and gradients back.
//
// An edge is a pair of stages of which one hands tensors to the other: neighbours, or the ends of a
// skip connection. Links has the sending and receiving ends of each edge that leads from this rank
// to another. The executor's channels send and receive through them (channel.h).
#pragma once

#include <memory>
#include <vector>

#include "runtime/engine/pipeline/links/narrow_links.h"
#include "runtime/planning/schedule/schedule.h"
#include "runtime/system/comm/network.h"

namespace penstock {

// The ends that this rank holds of one edge. A pointer is null where another rank holds that end,
// or where both stages are on one rank. Links owns them.
struct EdgeLinks {
  SendLink* send_activation = nullptr;        // where this rank holds the first of the two stages
  ReceiveLink* receive_gradient = nullptr;    // where it holds the first
  ReceiveLink* receive_activation = nullptr;  // where it holds the second
  SendLink* send_gradient = nullptr;          // where it holds the second
};

class Links {
 public:
  // Collective over the pipeline, with the same schedule on every rank. `window`: how many messages
  // may be under way on a link before its sender waits for the oldest. `narrow`: fp32 tensors
  // travel as bf16 (narrow_links.h).
  Links(Network& network, const Schedule& schedule, int window, bool narrow, Device& device);

  // The ends of an edge, numbered as in runtime/planning/schedule/edges.h.
  [[nodiscard]] const EdgeLinks& of(int edge) const { return links_[static_cast<size_t>(edge)]; }
  // Each of the next three does this for all links. progress() moves messages on and never waits.
  void progress();
  // Called at the end of a program: releases the device memory of what was sent. May wait for the
  // device, never for another rank.
  void hand_over();
  void drain();  // waits until everything sent has left

 private:
  Network::Ends ends_;  // where tensors travel narrow, the links below wrap these
  std::vector<std::unique_ptr<NarrowSendLink>> narrow_senders_;
  std::vector<std::unique_ptr<NarrowReceiveLink>> narrow_receivers_;
  std::vector<EdgeLinks> links_;  // by edge
  std::vector<SendLink*> senders_;
  std::vector<ReceiveLink*> receivers_;
};

}  // namespace penstock
