// runtime/engine/pipeline/links/links.h -- Links: what one rank sends activations and gradients
// through, and receives them: a set for every edge between one of its stages and a stage of another
// rank.
#pragma once

#include <memory>
#include <vector>

#include "runtime/engine/pipeline/links/narrow_links.h"
#include "runtime/planning/schedule/schedule.h"
#include "runtime/system/comm/network.h"

namespace penstock {

// The links of one edge between stages (runtime/planning/schedule/edges.h). A pointer is null where
// this rank is not that end, or both stages live on one rank.
struct EdgeLinks {
  SendLink* send_activation = nullptr;        // this rank holds the first of the two stages
  ReceiveLink* receive_gradient = nullptr;    // this rank holds the first
  ReceiveLink* receive_activation = nullptr;  // this rank holds the second
  SendLink* send_gradient = nullptr;          // this rank holds the second
};

class Links {
 public:
  // Collective over the pipeline: the same schedule on every rank. `window`: how many messages may
  // be under way on a link before its sender waits for the oldest. `narrow`: fp32 tensors travel as
  // bf16 (narrow_links.h).
  Links(Network& network, const Schedule& schedule, int window, bool narrow, Device& device);

  [[nodiscard]] const EdgeLinks& of(int edge) const { return links_[static_cast<size_t>(edge)]; }
  // Each of these is done to all links.
  void progress();  // moves messages on
  // Releases the device memory of what was sent, at the end of a program. May wait for the device,
  // never for another rank.
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
