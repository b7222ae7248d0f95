// runtime/system/comm/watch/silence.h -- Silence: measures for how long each rank of a host has
// shown no progress. Pure.
//
// A rank is not asked whether it hangs: it counts whatever shows that it goes on
// (ActivityPage::beat), and here it is noted when that count last changed. So a rank that has been
// in one long evaluation for an hour is not silent, and all others may wait for it as long as it
// takes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace penstock {

class Silence {
 public:
  // `period_s`: the usual time between two looks. A look that comes much later means that this
  // process was stopped too (a job that a batch system suspends, a laptop that sleeps): the time in
  // between does not count.
  Silence(size_t ranks, double period_s) : seen_(ranks), period_s_(period_s) {}

  // see() notes the count of a rank at that moment. A look is a see() for each rank, then looked().
  // Times are seconds of one clock.
  void see(size_t rank, uint64_t count, double now) {
    Seen& seen = seen_[rank];
    if (looks_ == 0 || seen.count != count) seen = {count, now};
  }
  void looked(double now) {
    const bool slept = looks_++ > 0 && now - last_look_ > kLate * period_s_ + kLateS;
    last_look_ = now;
    if (!slept) return;
    for (Seen& seen : seen_) seen.when = now;
  }
  // Seconds for which the rank has not gone on.
  [[nodiscard]] double of(size_t rank, double now) const { return now - seen_[rank].when; }

 private:
  static constexpr double kLate = 10.0;  // a busy machine may keep a thread from running for long
  static constexpr double kLateS = 2.0;
  struct Seen {
    uint64_t count = 0;
    double when = 0.0;
  };
  std::vector<Seen> seen_;
  double period_s_;
  double last_look_ = 0.0;
  int64_t looks_ = 0;
};

}  // namespace penstock
