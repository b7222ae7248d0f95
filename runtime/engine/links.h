// runtime/engine/links.h -- the links of one rank to the stages before and after its own.
#pragma once

#include <vector>

#include "runtime/comm/network.h"
#include "runtime/schedule/schedule.h"

namespace penstock {

// Boundary s lies between stage s and stage s + 1. A pointer is null where this rank is not that
// end, or both stages live on one rank.
struct Boundary {
  SendLink* send_activation = nullptr;        // I hold stage s
  ReceiveLink* receive_gradient = nullptr;    // I hold stage s
  ReceiveLink* receive_activation = nullptr;  // I hold stage s + 1
  SendLink* send_gradient = nullptr;          // I hold stage s + 1
};

class Links {
 public:
  // Collective over the pipeline: the same schedule on every rank. `window` is that of Edge.
  Links(Network& network, const Schedule& schedule, int window, Device& device);

  [[nodiscard]] const Boundary& boundary(int stage) const {
    return boundaries_[static_cast<size_t>(stage)];
  }
  void progress();
  void hand_over();  // before this rank waits for anything but a message
  void drain();      // until everything sent has left

 private:
  Network::Ends ends_;
  std::vector<Boundary> boundaries_;
  std::vector<SendLink*> senders_;
  std::vector<ReceiveLink*> receivers_;
};

}  // namespace penstock
