// kernels/clock.h -- DeviceClock: tells when a device ended the work issued to it, as opposed to
// when the host issued that work.
#pragma once

#include <chrono>
#include <cstddef>
#include <vector>

namespace penstock {

class DeviceClock {
 public:
  virtual ~DeviceClock() = default;
  virtual void restart() = 0;  // time zero is now; waits for the device
  // Dates `point` (0 to make_clock()'s points - 1): the moment at which everything issued so far
  // has ended. Does not wait.
  virtual void mark(size_t point) = 0;
  // Seconds from time zero to the moment of the last mark() of that point. Waits until the device
  // has come to that moment. The point must have been marked since restart().
  [[nodiscard]] virtual double seconds(size_t point) = 0;
  // Whether the device has come to the moment of the last mark() of that point. Never waits.
  [[nodiscard]] virtual bool has_passed(size_t /*point*/) { return true; }
};

// The clock of devices whose ops have ended when they return.
class HostClock final : public DeviceClock {
 public:
  explicit HostClock(size_t points) : marks_(points) {}
  void restart() override { zero_ = Clock::now(); }
  void mark(size_t point) override { marks_[point] = Clock::now(); }
  [[nodiscard]] double seconds(size_t point) override {
    return std::chrono::duration<double>(marks_[point] - zero_).count();
  }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point zero_ = Clock::now();
  std::vector<Clock::time_point> marks_;
};

}  // namespace penstock
