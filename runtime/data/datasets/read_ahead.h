// runtime/data/datasets/read_ahead.h -- ReadAhead: the bookkeeping of a Loader's threads. It tells
// each thread what to read next, and the consumer (the Loader's caller) when a step is complete; it
// reads nothing itself.
//
// Each step is cut into the same number of parts, which are given out in order: part 0 of step 0,
// part 1 of step 0 and so on, at most `slots` steps ahead of the first step that the consumer still
// needs. Threads may finish parts in any order; the consumer gets the steps in order. If several
// parts fail, the first one in order counts, as if one thread had read them all.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <mutex>
#include <optional>
#include <vector>

namespace penstock {

class ReadAhead {
 public:
  struct Part {
    int64_t step = 0, part = 0;
    [[nodiscard]] bool operator<(const Part& other) const {
      return step != other.step ? step < other.step : part < other.part;
    }
  };

  ReadAhead(int64_t parts_per_step, int64_t slots);

  // ---- called by the threads that read

  // Waits until there is room for another part, and returns it; nullopt: stop() was called or a
  // part has failed, and the thread must end.
  [[nodiscard]] std::optional<Part> take();
  // Must be called once for each part that was taken. `failure`: what reading it threw; null:
  // nothing.
  void finish(const Part& part, std::exception_ptr failure);
  [[nodiscard]] bool stopping() const { return stopping_; }  // true: read no more of the part

  // ---- called by the consumer; for each step release_before(), wait_for() and rethrow(), in order

  // Says that it needs no steps before this one any more, so that their slots can be used again.
  void release_before(int64_t step);
  // Waits until all parts of the step are finished, or until one has failed and no earlier one can.
  // Returns whether it had to wait.
  bool wait_for(int64_t step);
  // If reading the step failed, throws what it threw, at every call.
  void rethrow(int64_t step);
  // Ends the reading: take() gives no more parts, and stopping() is true.
  void stop();

 private:
  struct Slot {
    int64_t taken = 0, finished = 0;  // how many parts of the step that uses this slot
  };
  [[nodiscard]] Slot& slot_of(int64_t step) {
    return slots_[static_cast<size_t>(step) % slots_.size()];
  }
  // Both are called under the mutex.
  [[nodiscard]] bool has_failed(int64_t step);
  [[nodiscard]] bool is_complete(int64_t step) {
    return step < next_.step && slot_of(step).finished == parts_;
  }

  std::mutex mutex_;
  std::condition_variable room_;   // wakes threads that read
  std::condition_variable there_;  // wakes the consumer
  int64_t parts_;                  // of a step
  std::vector<Slot> slots_;
  Part next_;                           // the part that take() gives out next
  int64_t released_ = 0;                // steps before this one are released
  std::atomic<bool> stopping_ = false;  // written under the mutex, read without it too
  // The first part in order that failed, and what it threw; from then on no parts are given out.
  Part failed_;
  std::exception_ptr failure_;
};

}  // namespace penstock
