// runtime/planning/costs/link_times.h -- measures how long messages between two ranks take, and
// fits latency and bandwidth (LinkTimes) to the measurements, for `penstock profile`.
//
// Messages of several sizes go back and forth over the same links that stages use in training. The
// planner then predicts step times with the fitted numbers.
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

// Fits the line seconds = start + seconds_per_byte x bytes to the times of messages of at least two
// sizes. It minimises the sum of squared relative errors, so that small messages count as much as
// large ones. Then start = latency + 2 x overhead (one for each end), where the overhead is
// `overhead_s`, the measured time of the call that posts a send, or less where `start` is too small
// for it. No number of the result is negative.
[[nodiscard]] LinkTimes fit_link(std::span<const MessageTime> messages, double overhead_s);

// The two ends of a link: ranks of network.pipeline(), from 0.
using LinkEnds = std::array<int, 2>;
// What was measured of one link.
struct LinkMeasurement {
  std::vector<MessageTime> messages;  // an entry for each size, ascending
  double posting_s = 0;               // seconds of the call that posts the smallest message
};
// How much to spend on each size of messages: it is repeated until `bytes` bytes have been moved or
// it has been sent `repetitions` times, but at least 5 times.
struct LinkEffort {
  int64_t bytes = int64_t{128} << 20;
  int64_t repetitions = 200;
};
// Sends messages of 64 B to 16 MiB, in the memory of `device`, back and forth between the two ends
// of each link, one link after another, while the other ranks wait. Returns one measurement for
// each of `links`. Collective: all ranks of network.pipeline() must call it with the same `links`,
// and all get the same result.
[[nodiscard]] std::vector<LinkMeasurement> measure_links(Network& network,
                                                         std::span<const LinkEnds> links,
                                                         Device& device, const LinkEffort& effort);
// Fits LinkTimes to a measurement. `device` says whether a receiver must copy the bytes itself
// (LinkTimes::receiver_copies).
[[nodiscard]] LinkTimes times_of(const LinkMeasurement& measured, const DeviceFacts& device);

// Measures one link, between the ranks `first` and `second` of network.pipeline(), and fits its
// times. Collective, like measure_links().
[[nodiscard]] LinkTimes measure_link(Network& network, int first, int second, Device& device);

}  // namespace penstock
