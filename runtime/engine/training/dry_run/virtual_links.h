// runtime/engine/training/dry_run/virtual_links.h -- the ends of a link in a dry run. Messages are
// real and go over the real link; when they leave and arrive by the ranks' virtual clocks is
// computed as simulate() does (runtime/planning/schedule/timing/simulate.cpp).
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "kernels/counting/virtual_clock.h"
#include "runtime/engine/training/dry_run/virtual_mail.h"
#include "runtime/planning/schedule/timing/costs.h"
#include "runtime/system/comm/network.h"

namespace penstock {

// What both ends of a directed edge know of it. Clock and mail must outlive the ends.
struct VirtualEdge {
  VirtualClock& clock;  // of this rank
  VirtualMail& mail;
  LinkTimes times;
  int64_t number = 0;  // no other edge of the pipeline has the same
  int peer = 0;        // the rank of the pipeline at the other end
  // A send waits until the message that is so many before it has been received; 0: it never waits.
  int window = 0;
};

[[nodiscard]] std::unique_ptr<SendLink> make_virtual_send(std::unique_ptr<SendLink> real,
                                                          const VirtualEdge& edge);
[[nodiscard]] std::unique_ptr<ReceiveLink> make_virtual_receive(std::unique_ptr<ReceiveLink> real,
                                                                const VirtualEdge& edge);

}  // namespace penstock
