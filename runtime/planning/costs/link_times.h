// runtime/planning/costs/link_times.h -- the times of messages between two ranks, measured over the
// links that stages use.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "runtime/planning/schedule/timing/costs.h"
#include "runtime/system/comm/network.h"

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

// Two positions of the network's pipeline.
using LinkEnds = std::array<int, 2>;
// The measurements between two of them: times by size, and the time of posting the smallest
// message.
struct LinkMeasurement {
  std::vector<MessageTime> messages;
  double posting_s = 0;
};
// The most effort to spend: bytes to move by size, and repetitions.
struct LinkEffort {
  int64_t bytes = int64_t{128} << 20;
  int64_t repetitions = 200;
};
// Sends messages of 64 B to 16 MiB back and forth between the ends of each link, one link after
// another; the other ranks wait. Collective, all ranks get the same. `links` is the same
// everywhere.
[[nodiscard]] std::vector<LinkMeasurement> measure_links(Network& network,
                                                         std::span<const LinkEnds> links,
                                                         Device& device, const LinkEffort& effort);
// fit_link() of a measurement, on such a device.
[[nodiscard]] LinkTimes times_of(const LinkMeasurement& measured, const DeviceFacts& device);

// The times of one link.
[[nodiscard]] LinkTimes measure_link(Network& network, int first, int second, Device& device);

}  // namespace penstock
