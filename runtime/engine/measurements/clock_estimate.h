// runtime/engine/measurements/clock_estimate.h -- estimates how far the clock of another host is
// from the clock here, so that the times in a trace of several hosts can be put on one axis. Pure;
// all times are in seconds.
//
// The method is NTP's (Mills, RFC 5905). A message is sent to the other host, which answers at once
// with the time by its clock; `sent` and `received` are the times here. The other clock was read at
// some moment between these two. To take the middle is wrong by half the round trip at most, so of
// several messages the one with the shortest round trip tells most. Two such readings, some time
// apart, tell how much faster or slower the other clock runs. RankClocks (rank_clocks.h) exchanges
// the messages.
#pragma once

#include <span>

namespace penstock {

// One message there and back: `sent` and `received` by the clock here, `answered` by the other
// clock.
struct RoundTrip {
  double sent = 0, answered = 0, received = 0;
};

struct ClockReading {
  double there = 0;  // what the other clock showed
  double ahead = 0;  // `there` minus what the clock here showed at the same moment
  double error = 0;  // `ahead` is within this of the truth
};
// The reading by the trip with the shortest round trip. `trips` must not be empty.
[[nodiscard]] ClockReading read_clock(std::span<const RoundTrip> trips);

// Another clock, known from two readings, `first` no later than `last`; between them it is taken to
// run evenly. The default stands for the clock here itself.
struct OtherClock {
  ClockReading first = {}, last = {};

  // Translates a time: what the clock here showed when the other clock showed `there`. Before the
  // first reading that one alone is used, after the last reading the last one.
  [[nodiscard]] double here(double there) const;
  // The largest error of here() between the readings.
  [[nodiscard]] double error() const;
};

}  // namespace penstock
