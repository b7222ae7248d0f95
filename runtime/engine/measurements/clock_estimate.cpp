#include "runtime/engine/measurements/clock_estimate.h"

#include <algorithm>

namespace penstock {

ClockReading read_clock(std::span<const RoundTrip> trips) {
  const auto soonest = std::ranges::min_element(
      trips, {}, [](const RoundTrip& trip) { return trip.received - trip.sent; });
  const double half = (soonest->received - soonest->sent) / 2.0;
  return {.there = soonest->answered,
          .ahead = soonest->answered - (soonest->sent + half),
          .error = half};
}

double OtherClock::here(double there) const {
  const double between = last.there - first.there;
  const double share = between > 0.0 ? std::clamp((there - first.there) / between, 0.0, 1.0) : 0.0;
  return there - (first.ahead + share * (last.ahead - first.ahead));
}

double OtherClock::error() const {
  return std::max(first.error, last.error);
}

}  // namespace penstock
