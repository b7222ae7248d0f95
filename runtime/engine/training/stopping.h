// runtime/engine/training/stopping.h -- Stopping: whether a run has been asked to end before its
// last step. By what is launch's business; that all ranks do it after the same step is the Run's.
#pragma once

#include <cstdint>
#include <string>

namespace penstock {

class Stopping {
 public:
  virtual ~Stopping() = default;
  // Asked once a step on every rank; one that says yes stops all.
  [[nodiscard]] virtual bool is_due() = 0;
  [[nodiscard]] virtual std::string reason() const = 0;  // for people, once it is due anywhere
  // will_save(): the size of a checkpoint, said before the first one. saved(): a checkpoint was
  // complete after so many seconds.
  virtual void will_save(int64_t bytes) = 0;
  virtual void saved(double seconds) = 0;
};

}  // namespace penstock
