// runtime/engine/training/divergence/spoilt_weights.h -- looks whether an update has left weights
// that are not finite. Steps see that in their loss; after the last update no step does.
#pragma once

#include <string>

#include "runtime/engine/pipeline/pipeline.h"
#include "runtime/system/comm/station.h"

namespace penstock {

// Looks at every tensor that training changes: weights, statistics of norms, and the averages of
// both. Collective over all ranks. Returns the name of the first that is not finite, such as "the
// average of 'blocks.1.weight'", the same on every rank; empty: all are finite. `station`: which
// rank this is, with its network and its device.
[[nodiscard]] std::string find_spoilt_weights(Pipeline& pipeline, const Station& station);

}  // namespace penstock
