// kernels/cuda/trouble.h -- Trouble: lets kernels tell the host what is wrong with their data (an
// id outside its table), without the host waiting. Kernels write the first finding (report.h) to
// host memory that the device can write, and the host looks at it whenever it has waited for the
// device anyway.
#pragma once

#include <cstdint>

#include "kernels/cuda/status.h"

namespace penstock {

struct Finding {
  enum Kind : int32_t { None = 0, TokenOutsideTable = 1, LabelOutsideClasses = 2 };
  int32_t kind = None;  // kernels change it from None by atomicCAS_system, then write the rest
  int32_t value = 0;    // the offending id or label
  int32_t limit = 0;    // the number of rows of the table, or of classes
};

class Trouble {
 public:
  Trouble();
  ~Trouble();
  Trouble(const Trouble&) = delete;
  Trouble& operator=(const Trouble&) = delete;
  // The address by which kernels write the finding. This object owns the memory.
  [[nodiscard]] Finding* on_device() const { return on_device_; }
  // Called after the device has been waited for: throws Error(Input) saying what was found, and
  // forgets it.
  void check();

 private:
  Finding* on_host_ = nullptr;
  Finding* on_device_ = nullptr;
};

}  // namespace penstock
