// runtime/records/hub/config/config_json.h -- makes the [model] section of a run file from the
// config.json of a Hugging Face folder. Pure but for the reading of that one file.
//
// Members that ask for a network that cannot be built here are refused by name; those known to
// change nothing are passed over (config_keys.h). Unknown members are refused too, unless their
// value says that something is not there (null, false, 0, 1.0, empty) or their name begins with an
// underscore. Rates of dropout are passed over: model.dropout is used.
#pragma once

#include <string>
#include <string_view>

#include "runtime/network/models/config.h"

namespace penstock {

inline constexpr const char* kConfigFile = "config.json";

struct HubConfig {
  std::string family;  // model_type: gpt2 | llama | mistral | qwen2 | qwen3
  ModelConfig model;   // kind "decoder"; what config.json leaves to defaults is set
};

// The network that `text` describes. Throws Error naming `where`, the member and what to do: of
// kind Data for what is no JSON, of kind Input for a network that is not supported.
[[nodiscard]] HubConfig parse_hub_config(std::string_view text, const std::string& where);

// parse_hub_config() of the file in `folder`. Throws Error(Input) as well where there is none.
[[nodiscard]] HubConfig read_hub_config(const std::string& folder);

}  // namespace penstock
