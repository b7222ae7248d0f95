// runtime/data/datasets/read_ahead.h -- ReadAhead: tells threads which part of which step to read,
// and the consumer when a step is read. It counts; it reads nothing.
//
// Steps are cut into parts, which are given out in order: part 0 of step 0, part 1 of step 0, and
// so on, up to `slots` steps beyond what the consumer has released. Threads may finish parts in any
// order; the consumer gets the steps in order. Of several parts that fail, the first in order
// counts, as if one thread had read them all.
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

  // Called by the threads that read. take() waits for the next part; nothing: there are no more. A
  // thread calls finish() once for each part that it took, with what reading threw; null: nothing.
  [[nodiscard]] std::optional<Part> take();
  void finish(const Part& part, std::exception_ptr failure);
  [[nodiscard]] bool stopping() const { return stopping_; }  // a thread then leaves its part unread

  // Called by the consumer, which is done with all steps before this one.
  void release_before(int64_t step);
  // Waits until all parts of the step are read, or one has failed. Returns whether it had to wait.
  bool wait_for(int64_t step);
  // Throws, at every call, what reading the step threw, if it threw.
  void rethrow(int64_t step);
  // From now on take() gives no parts, and stopping() tells threads to leave the part they have.
  void stop();

 private:
  struct Slot {
    int64_t taken = 0, finished = 0;  // of its step's parts
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
  Part next_;
  int64_t released_ = 0;                // steps that the consumer is done with
  std::atomic<bool> stopping_ = false;  // written under the mutex, also read between samples
  // The first part that failed, and what it threw; no others are given out from then on.
  Part failed_;
  std::exception_ptr failure_;
};

}  // namespace penstock
