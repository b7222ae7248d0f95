// runtime/engine/measurements/clock_estimate.h -- how far another host's clock is from the clock
// here, by the times of messages there and back. Pure; all times in seconds.
//
// The method is NTP's (Mills, RFC 5905): of several messages that were answered at once, the one
// that was back soonest says most. The other clock was read between sending and receiving; to
// assume that it was halfway is wrong by half the round trip at most. Two readings, some time
// apart, tell how much faster or slower the other clock runs.
#pragma once

#include <span>

namespace penstock {

// One message there and back: `sent` and `received` by the clock here, `answered` by the other.
struct RoundTrip {
  double sent = 0, answered = 0, received = 0;
};

struct ClockReading {
  double there = 0;  // what the other clock showed
  double ahead = 0;  // how much more that was than what the clock here showed
  double error = 0;  // by how much `ahead` may be wrong
};
// The reading by the shortest of the trips, of which there must be one at least.
[[nodiscard]] ClockReading read_clock(std::span<const RoundTrip> trips);

// Another clock, taken to run evenly between two readings, `first` no later than `last`. The
// default is the clock here itself.
struct OtherClock {
  ClockReading first = {}, last = {};

  // What the clock here showed when the other showed `there`. Outside of the two readings the
  // nearer one counts: a drift over so short a time would be lost in their errors.
  [[nodiscard]] double here(double there) const;
  // The largest error of here() between the readings.
  [[nodiscard]] double error() const;
};

}  // namespace penstock
