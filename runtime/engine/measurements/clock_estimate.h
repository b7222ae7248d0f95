// runtime/engine/measurements/clock_estimate.h -- what another host's clock shows, from messages
// there and back. Pure; all times in seconds.
//
// The method is NTP's (Mills, RFC 5905): of several messages that were answered at once, the one
// that was back soonest says most. The other clock was read between sending and receiving, so
// taking it to be the middle is wrong by half that time at most. Two readings, some time apart,
// tell how much faster or slower the other clock runs.
#pragma once

#include <span>

namespace penstock {

// `sent` and `received` by the clock here, `answered` by the one there.
struct RoundTrip {
  double sent = 0, answered = 0, received = 0;
};

struct ClockReading {
  double there = 0;  // the clock there showed this,
  double ahead = 0;  // which was so much more than the one here,
  double error = 0;  // or wrong by this much at most
};
// The reading that the trips give, of which there must be one at least.
[[nodiscard]] ClockReading read_clock(std::span<const RoundTrip> trips);

// A clock that ran evenly between two readings, the first no later than the last. The default is
// the clock here itself.
struct OtherClock {
  ClockReading first = {}, last = {};

  // What the clock here showed when the one there showed `there`. Outside of the two readings the
  // nearer one counts: a drift over so short a time would be lost in their errors.
  [[nodiscard]] double here(double there) const;
  // The largest error between the readings, of a clock that ran evenly.
  [[nodiscard]] double error() const;
};

}  // namespace penstock
