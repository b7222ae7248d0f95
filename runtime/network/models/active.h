// runtime/network/models/active.h -- how many parameters of a mixture of experts a token meets.
#pragma once

#include <cstdint>

#include "runtime/network/models/config.h"

namespace penstock {

// The parameters of the experts to which a token does not go, in all layers: what the network has
// besides its active parameters. 0 where there are no experts.
[[nodiscard]] int64_t idle_parameters(const ModelConfig& config);

}  // namespace penstock
