// runtime/network/stage/initial_values.h -- the initial values of a parameter: a pure function of
// (seed, name, element).
#pragma once

#include <cstdint>

#include "kernels/device.h"
#include "runtime/network/autograd/parameter.h"

namespace penstock {

// Overwrites the weight, which is fp32, or bf16 with rounded values, with the same bits on any
// stage, rank or device. Makes no second copy of it.
void fill_initial_values(Parameter& parameter, uint64_t seed, Device& device);

}  // namespace penstock
