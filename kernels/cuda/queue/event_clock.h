// kernels/cuda/queue/event_clock.h -- EventClock: the DeviceClock of a GPU, by timed events in the
// stream that computes. The functions do what DeviceClock (kernels/clock.h) says.
#pragma once

#include <vector>

#include "kernels/clock.h"
#include "kernels/cuda/queue/queue.h"

namespace penstock {

class EventClock final : public DeviceClock {
 public:
  // mark() takes the points 0 to points - 1. `queue` must outlive the clock.
  EventClock(size_t points, Queue& queue) : queue_(queue), marks_(points) { restart(); }

  void restart() override {
    queue_.record(zero_.event);
    queue_.wait_on_host(zero_.event);
  }
  void mark(size_t point) override { queue_.record(marks_[point].event); }
  [[nodiscard]] double seconds(size_t point) override {
    queue_.wait_on_host(marks_[point].event);
    return Event::seconds_between(zero_.event, marks_[point].event);
  }
  [[nodiscard]] bool has_passed(size_t point) override { return marks_[point].event.passed(); }

 private:
  struct Mark {
    Event event{Event::Timed};
  };
  Queue& queue_;
  Mark zero_;
  std::vector<Mark> marks_;
};

}  // namespace penstock
