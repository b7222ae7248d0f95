// kernels/cpu/processor.h -- what kernels/cpu can know of the processor under it.
#pragma once

#include "kernels/device_model.h"

namespace penstock {

// The processor of this process as oneDNN sees it: ONEDNN_MAX_CPU_ISA makes an older one of it.
[[nodiscard]] Processor processor_at_hand();

}  // namespace penstock
