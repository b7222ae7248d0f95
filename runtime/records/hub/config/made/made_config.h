// runtime/records/hub/config/made/made_config.h -- make_hub_config(): writes a Hugging Face
// config.json for a network that was trained here from random weights, so that it can be exported
// and loaded by transformers.
//
// It looks for a family (gpt2, llama, ...) whose architecture includes the network. A network that
// was loaded from a Hugging Face folder has that folder's config.json instead.
#pragma once

#include <cstdint>
#include <string>

#include "runtime/network/models/config.h"

namespace penstock {

struct MadeConfig {
  std::string family;  // the model_type in it: gpt2, llama, ...
  std::string text;    // the config.json, for weights of type float32
};

// `model` must be of kind "decoder", with its vocabulary and width set. Throws Error(Input) if no
// family includes the network, naming the options in which it differs from the nearest one.
[[nodiscard]] MadeConfig make_hub_config(const ModelConfig& model);

// The family of a network. If it came from a folder, reads that folder's config.json; else calls
// make_hub_config(). Throws Error(Input) if no family includes the network or there is no such
// file, Error(Data) if the file is no JSON.
[[nodiscard]] std::string family_of(const ModelConfig& model);

}  // namespace penstock
