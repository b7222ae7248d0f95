// runtime/network/optimizer/validate.h -- validate(): checks the values of an [optimizer] section
// before anything is allocated.
#pragma once

#include "runtime/network/optimizer/config.h"

namespace penstock {

// Throws Error(Input) naming the first bad key as `optimizer.<key>`, its value and what is allowed.
void validate(const OptimizerConfig& config);

}  // namespace penstock
