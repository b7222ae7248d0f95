// runtime/network/stage/initial_values.h -- the initial values of a parameter: a pure function of
// (seed, name, element).
#pragma once

#include <cstdint>

#include "kernels/device.h"
#include "runtime/network/autograd/parameter.h"

namespace penstock {

// Overwrites the weight, fp32 or, rounded, bf16. The same on any stage, rank or device. No second
// copy of it is held.
void fill_initial_values(Parameter& parameter, uint64_t seed, Device& device);

}  // namespace penstock
