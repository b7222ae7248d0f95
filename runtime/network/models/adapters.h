// runtime/network/models/adapters.h -- what the [lora] section of a run file means for a network:
// which of its linear layers get adapters (runtime/network/layers/adapter.h), and which parameters
// are then frozen.
#pragma once

#include <string>
#include <vector>

#include "runtime/network/layers/adapter.h"
#include "runtime/network/models/config.h"

namespace penstock {

// The adapters' options and the names of the linear layers that lora.targets chooses inside
// attention and feed-forward layers: targets are called as model cards call them, and "up" is the
// layer `in` here, "down" the layer `out`. None where lora.rank is 0. The configuration must have
// passed check_adapters().
[[nodiscard]] AdaptedParts adapted_parts(const LoraConfig& lora);

// Throws Error(Input) if model.kind has no adapters, if lora.targets is empty, or if a target is no
// layer of this network, naming the known targets. Does nothing where lora.rank is 0.
void check_adapters(const ModelConfig& config);

// Patterns of names that fit all parameters but those of adapters: what optimizer.freeze is taken
// for in a run that has adapters and says nothing of optimizer.freeze.
[[nodiscard]] std::vector<std::string> all_but_adapters();

}  // namespace penstock
