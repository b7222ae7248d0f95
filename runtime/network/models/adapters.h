// runtime/network/models/adapters.h -- what the [lora] section makes of a network: the layers that
// get adapters, and the patterns that freeze all else.
#pragma once

#include <string>
#include <vector>

#include "runtime/network/layers/adapter.h"
#include "runtime/network/models/config.h"

namespace penstock {

// The adapted parts, by the names of the layers inside attention and feed-forward; none where
// lora.rank is 0. `lora` must have passed check_adapters().
[[nodiscard]] AdaptedParts adapted_parts(const LoraConfig& lora);

// Throws Error(Input) for adapters in a kind of network that has none, and for a target that no
// layer of the network has, naming the known ones. Does nothing where lora.rank is 0.
void check_adapters(const ModelConfig& config);

// The optimizer.freeze of a run with adapters that gives none itself: patterns that freeze all but
// the adapters.
[[nodiscard]] std::vector<std::string> all_but_adapters();

}  // namespace penstock
