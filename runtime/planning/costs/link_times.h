// runtime/planning/costs/link_times.h -- measures the times of messages between two ranks, over the
// links that stages use, and fits LinkTimes to them.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "runtime/planning/schedule/timing/costs.h"
#include "runtime/system/comm/network.h"

namespace penstock {

// The time of one message of `bytes` bytes, from the start of the send to the end of the receive.
struct MessageTime {
  double bytes = 0, seconds = 0;
};

// Fits the line seconds = start + seconds_per_byte x bytes to the messages' times, with the least
// sum of squared relative errors, so small messages count as much as large ones. `overhead_s` is
// the time of a call that posts a message; start = latency + 2 x overhead, one for each end. No
// part is negative. Needs two sizes or more.
[[nodiscard]] LinkTimes fit_link(std::span<const MessageTime> messages, double overhead_s);

// The two ends of a link: positions of the network's pipeline.
using LinkEnds = std::array<int, 2>;
// The measurements of one link: the time of a message by size, and the time of the call that posts
// the smallest one.
struct LinkMeasurement {
  std::vector<MessageTime> messages;
  double posting_s = 0;
};
// The most to spend on each size of messages: bytes to move, and repetitions; but 5 repetitions at
// least.
struct LinkEffort {
  int64_t bytes = int64_t{128} << 20;
  int64_t repetitions = 200;
};
// Measures links: sends messages of 64 B to 16 MiB back and forth between the ends of each, one
// link after another, while the other ranks wait. Collective: all ranks give the same `links` and
// get the same result.
[[nodiscard]] std::vector<LinkMeasurement> measure_links(Network& network,
                                                         std::span<const LinkEnds> links,
                                                         Device& device, const LinkEffort& effort);
// The LinkTimes that fit a measurement, for devices like `device`.
[[nodiscard]] LinkTimes times_of(const LinkMeasurement& measured, const DeviceFacts& device);

// Measures one link, between positions `first` and `second`. Collective.
[[nodiscard]] LinkTimes measure_link(Network& network, int first, int second, Device& device);

}  // namespace penstock
