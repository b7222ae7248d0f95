// kernels/counting/virtual_clock.h -- VirtualClock: the time of one rank of a dry run, in seconds
// from the run's beginning.
//
// It stands still until it is moved: by the seconds that an op would take, or to the moment at
// which what the rank waits for is there. So it tells the modelled time on a machine of any speed.
#pragma once

#include <algorithm>
#include <utility>

namespace penstock {

class VirtualClock {
 public:
  [[nodiscard]] double now() const { return now_; }
  void advance(double seconds) { now_ += seconds; }
  // Moves to `moment` where that is later. What the rank owes is done meanwhile.
  void wait_until(double moment) {
    if (moment <= now_) return;
    owed_ = std::max(0.0, owed_ - (moment - now_));
    now_ = moment;
  }
  // Notes so many seconds of work that the rank does while it waits, or at the latest in pay().
  void owe(double seconds) { owed_ += seconds; }
  void pay() { now_ += std::exchange(owed_, 0.0); }

 private:
  double now_ = 0;
  double owed_ = 0;
};

}  // namespace penstock
