// runtime/records/hub/config/config_json.h -- the config.json of a Hugging Face folder as the
// [model] section of a run file. Pure but for the reading of that one file.
//
// What of a config.json changes the network and cannot be had is refused by name; what is known to
// change nothing is passed over (config_keys.h). What is not known is refused too, unless it says
// that something is not there (null, false, 0, 1.0, empty) or its name begins with an underscore.
// Rates of dropout are no part of the network: model.dropout says.
#pragma once

#include <string>
#include <string_view>

#include "runtime/network/models/config.h"

namespace penstock {

inline constexpr const char* kConfigFile = "config.json";

struct HubConfig {
  std::string family;  // model_type: gpt2 | llama | mistral | qwen2 | qwen3
  ModelConfig model;   // kind "decoder"; what follows from other numbers is written out
};

// Throws Error naming `where`, its member and what to do: of kind Data for what is no JSON, of kind
// Input for what is no such network.
[[nodiscard]] HubConfig parse_hub_config(std::string_view text, const std::string& where);

// The same for the file in a folder. Throws Error(Input) as well where there is none.
[[nodiscard]] HubConfig read_hub_config(const std::string& folder);

}  // namespace penstock
