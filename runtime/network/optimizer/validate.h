// runtime/network/optimizer/validate.h -- refuses an [optimizer] section that cannot be trained
// with.
#pragma once

#include "runtime/network/optimizer/config.h"

namespace penstock {

// Throws Error(Input) naming the first bad key as `optimizer.<key>`, its value and what is allowed.
void validate(const OptimizerConfig& config);

}  // namespace penstock
