// kernels/cuda/report.h -- report(): a kernel tells the host of bad data, an id that no row of a
// table has or a label that no class has. For .cu files.
#pragma once

#include <cuda_runtime.h>

#include "kernels/cuda/trouble.h"

namespace penstock {

// Writes a finding for the host, which turns it into an error when it next waits for the device
// (Trouble::check(), trouble.h). `finding` is the device address that the host side passes to the
// kernel: Trouble::on_device(), memory that the Trouble of the device owns. `kind` is
// Finding::TokenOutsideTable or LabelOutsideClasses; `value` is the bad id or label, `limit` the
// rows of the table or the number of classes: (TokenOutsideTable, 50300, 50257), say. `limit` is
// kept as int32, since ids are int32 and tables of more rows are not met. Does nothing where an
// earlier finding is there that the host has not looked at yet. Any number of threads may call it
// at a time.
__device__ inline void report(Finding* finding, Finding::Kind kind, int32_t value, int64_t limit) {
  if (atomicCAS_system(&finding->kind, static_cast<int32_t>(Finding::None),
                       static_cast<int32_t>(kind)) != Finding::None) {
    return;
  }
  finding->value = value;
  finding->limit = static_cast<int32_t>(limit);
  __threadfence_system();
}

}  // namespace penstock
