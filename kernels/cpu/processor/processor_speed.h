// kernels/cpu/processor/processor_speed.h -- measures the speed of kernels/cpu on the processor
// at hand. The same program is three times slower on one server than on another, and no data sheet
// says it.
#pragma once

#include "kernels/device_model.h"

namespace penstock {

// Runs a few ops of the sizes that training has, on a device of its own with that many threads (>=
// 1), which takes about half a second. The shortest of each op's times counts: other work of the
// machine only ever adds to them. `undisturbed` of the result is 0 where much other work ran, else
// 1. Ranks that will compute side by side measure side by side, for they share a memory.
//
// The peak is the fastest product seen. Where bf16 is emulated, its speed of products is that of
// fp32.
[[nodiscard]] ProcessorSpeed measure_processor(int threads);

// Two measurements of one processor as one: each op by the measurement in which it was faster.
[[nodiscard]] ProcessorSpeed faster(const ProcessorSpeed& a, const ProcessorSpeed& b);

}  // namespace penstock
