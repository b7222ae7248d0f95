// runtime/network/models/adapters.h -- what the [lora] section says of a network: which layers have
// adapters, and that nothing else is trained.
#pragma once

#include <string>
#include <vector>

#include "runtime/network/layers/adapter.h"
#include "runtime/network/models/config.h"

namespace penstock {

// The adapted parts, by the names of the layers inside attention and feed-forward; none for a rank
// of 0. Targets must be known: see check_adapters().
[[nodiscard]] AdaptedParts adapted_parts(const LoraConfig& lora);

// Throws Error(Input) for adapters in a kind of network that has none, and for a target that no
// layer of the network has, naming the known ones. Does nothing for a rank of 0.
void check_adapters(const ModelConfig& config);

// optimizer.freeze of a run that says nothing else: everything but the adapters.
[[nodiscard]] std::vector<std::string> all_but_adapters();

}  // namespace penstock
