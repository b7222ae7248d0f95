// runtime/costs/link_times.h -- what messages between two ranks take, measured over the links that
// stages use.
#pragma once

#include <span>

#include "runtime/comm/network.h"
#include "runtime/schedule/timing/costs.h"

namespace penstock {

// One message of that size, from the start of the send to the end of the receive.
struct MessageTime {
  double bytes = 0, seconds = 0;
};

// The line seconds = start + seconds_per_byte x bytes that misses the messages' times by the least
// share (weighted least squares: small messages count as much as large ones). The start is the
// latency and, at both ends, the overhead: what a call that posts a message takes. No part is
// negative. Needs two sizes or more.
[[nodiscard]] LinkTimes fit_link(std::span<const MessageTime> messages, double overhead_s);

// Messages of 64 B to 16 MiB to and fro between two positions of the network's pipeline; the other
// ranks wait. Collective, all ranks get the same.
[[nodiscard]] LinkTimes measure_link(Network& network, int first, int second, Device& device);

}  // namespace penstock
