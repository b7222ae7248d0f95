// runtime/network/stage/initial_values.h -- fill_initial_values(): gives a parameter its random or
// constant initial values before training.
//
// Each number is a function of (seed, name of the parameter, index of the element) alone, so the
// network starts with the same bits however it is cut into stages.
#pragma once

#include <cstdint>

#include "kernels/device.h"
#include "runtime/network/autograd/parameter.h"

namespace penstock {

// Overwrites the parameter's weight, which must have memory, as Parameter::init says; a bf16 weight
// gets the rounded numbers. `seed` is the run's. Needs no memory for a second copy of the weight.
void fill_initial_values(Parameter& parameter, uint64_t seed, Device& device);

}  // namespace penstock
