#include "runtime/engine/measurements/clock_estimate.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <random>

namespace penstock {
namespace {

// A clock with its own zero that runs too fast or too slowly.
struct SimulatedClock {
  double zero, rate;
  [[nodiscard]] double at(double s) const { return zero + rate * s; }
};

// Messages take 30 to 300 microseconds, not the same time there and back, and one in four waits
// for milliseconds besides.
class SimulatedNetwork {
 public:
  double one_way_s() {
    const double usual = std::uniform_real_distribution(30e-6, 300e-6)(dice_);
    return dice_() % 4 == 0 ? usual + std::uniform_real_distribution(1e-3, 9e-3)(dice_) : usual;
  }
  std::array<RoundTrip, 16> trips(const SimulatedClock& here, const SimulatedClock& there,
                                  double s) {
    std::array<RoundTrip, 16> all;
    for (RoundTrip& trip : all) {
      trip.sent = here.at(s);
      s += one_way_s();
      trip.answered = there.at(s);
      s += one_way_s();
      trip.received = here.at(s);
    }
    return all;
  }

 private:
  std::mt19937 dice_{7};
};

// What three hosts say of one moment, two of them brought to the clock of the first. Ten minutes
// between the readings: at 80 parts in a million that is 48 ms of drift.
TEST(ClockEstimate, ThreeHostsAgreeWithinAMillisecond) {
  const SimulatedClock first{812.5, 1.0};
  const std::array<SimulatedClock, 2> others = {{{371'204.25, 1.0 + 50e-6}, {12.75, 1.0 - 80e-6}}};
  SimulatedNetwork network;
  for (const SimulatedClock& other : others) {
    const OtherClock clock{.first = read_clock(network.trips(first, other, 100.0)),
                           .last = read_clock(network.trips(first, other, 700.0))};
    EXPECT_LT(clock.error(), 1e-3);
    for (double s = 101.0; s < 700.0; s += 0.5) {
      ASSERT_NEAR(clock.here(other.at(s)), first.at(s), clock.error() + 1e-6) << s;
    }
  }
}

TEST(ClockEstimate, TheSoonestAnswerCounts) {
  const std::array<RoundTrip, 2> trips = {{{10.0, 75.0, 14.0}, {20.0, 80.5, 21.0}}};
  const ClockReading reading = read_clock(trips);
  EXPECT_DOUBLE_EQ(reading.there, 80.5);
  EXPECT_DOUBLE_EQ(reading.ahead, 60.0);
  EXPECT_DOUBLE_EQ(reading.error, 0.5);
}

TEST(ClockEstimate, OneReadingIsAnOffset) {
  const ClockReading reading{.there = 50.0, .ahead = 10.0, .error = 0.0};
  const OtherClock clock{reading, reading};
  EXPECT_DOUBLE_EQ(clock.here(48.0), 38.0);
  EXPECT_DOUBLE_EQ(clock.here(90.0), 80.0);
  EXPECT_DOUBLE_EQ(OtherClock{}.here(3.5), 3.5);
}

}  // namespace
}  // namespace penstock
