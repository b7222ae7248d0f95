// runtime/records/hub/config/made_config.h -- a config.json for a network that came from no folder:
// that of the family which says the same network. Pure but for family_of().
#pragma once

#include <cstdint>
#include <string>

#include "runtime/network/models/config.h"

namespace penstock {

struct MadeConfig {
  std::string family;  // hub_family(), in names.h
  std::string text;    // config.json, for weights of type float32
};

// `model` is of kind decoder, its vocabulary and width known. Where no family can say the network,
// throws Error(Input) naming the options that keep it from the nearest one.
[[nodiscard]] MadeConfig make_hub_config(const ModelConfig& model);

// The family of a network, by the folder that it comes from or else as make_hub_config() says.
[[nodiscard]] std::string family_of(const ModelConfig& model);

}  // namespace penstock
