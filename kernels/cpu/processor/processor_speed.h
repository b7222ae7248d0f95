// kernels/cpu/processor/processor_speed.h -- measures the speed of kernels/cpu on the processor
// at hand. The same program is three times slower on one server than on another, and no data sheet
// says it.
#pragma once

#include "kernels/device_model.h"

namespace penstock {

// Runs a few ops of the sizes that training has, on a device of its own with that many threads (>=
// 1), which takes about half a second. The shortest of each op's times counts: other work of the
// machine only ever adds to them. `measurements` of the result is 1; `undisturbed` is 0 where much
// other work ran, else 1. Ranks of a host that will compute at the same time should call this at
// the same time, for they share the host's memory. It does not communicate.
//
// The peak of a type is the speed of its fastest product. Where bf16 is emulated, its products have
// the speeds of fp32.
[[nodiscard]] ProcessorSpeed measure_processor(int threads);

// Joins two measurements of one processor: each figure is the better of the two, and the counts of
// measurements are added up.
[[nodiscard]] ProcessorSpeed faster(const ProcessorSpeed& a, const ProcessorSpeed& b);

}  // namespace penstock
