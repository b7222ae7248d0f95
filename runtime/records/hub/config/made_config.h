// runtime/records/hub/config/made_config.h -- writes a config.json for a network that came from no
// folder, of the family (gpt2, llama, ...) that can describe it. Pure but for family_of().
#pragma once

#include <cstdint>
#include <string>

#include "runtime/network/models/config.h"

namespace penstock {

struct MadeConfig {
  std::string family;  // its model_type
  std::string text;    // config.json, for weights of type float32
};

// `model` is of kind decoder, its vocabulary and width known. Throws Error(Input) where no family
// can describe the network, naming the options that differ from the nearest one.
[[nodiscard]] MadeConfig make_hub_config(const ModelConfig& model);

// The family of a network: that of the folder that it comes from, else that of make_hub_config().
[[nodiscard]] std::string family_of(const ModelConfig& model);

}  // namespace penstock
