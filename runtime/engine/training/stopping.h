// runtime/engine/training/stopping.h -- Stopping: tells a run whether it has been asked to end
// before its last step. launch/program/stopping knows by what; Run sees to it that all ranks end
// after the same step.
#pragma once

#include <cstdint>
#include <string>

namespace penstock {

class Stopping {
 public:
  virtual ~Stopping() = default;
  // Asked once a step on every rank; one rank that says yes stops all.
  [[nodiscard]] virtual bool is_due() = 0;
  [[nodiscard]] virtual std::string reason() const = 0;  // for people, once any rank said yes
  // Told before the first checkpoint how large one is, and after each how long it took.
  virtual void will_save(int64_t bytes) = 0;
  virtual void saved(double seconds) = 0;
};

}  // namespace penstock
