// runtime/engine/training/stopping.h -- Stopping: the interface through which a training run asks,
// once a step, whether it has to end before its last step (a signal, a time limit, a file).
// StopRequests implements it (launch/program/stopping/stop_requests.h); Run sees to it that all
// ranks end after the same step.
#pragma once

#include <cstdint>
#include <string>

namespace penstock {

class Stopping {
 public:
  virtual ~Stopping() = default;
  // Whether to stop. Asked once a step on every rank; one rank that answers true stops all.
  [[nodiscard]] virtual bool is_due() = 0;
  // Why the run stops, for people. On a rank that has not answered true itself: that another rank
  // was asked to stop.
  [[nodiscard]] virtual std::string reason() const = 0;
  // will_save() is called before the first checkpoint, with its size in bytes as far as it is
  // known, and saved() with the seconds that a checkpoint has taken, perhaps several times for one.
  // A time limit then leaves time for a checkpoint.
  virtual void will_save(int64_t bytes) = 0;
  virtual void saved(double seconds) = 0;
};

}  // namespace penstock
