// runtime/records/hub/config/config_json.h -- reads the config.json of a Hugging Face model folder
// and makes from it the [model] section of a run file, from which Penstock builds the same network.
//
// A member of config.json that asks for a network that cannot be built here is refused by name.
// Members that are known never to change the network are skipped (config_keys.h). An unknown member
// is refused, unless its value means that nothing is there (null, false, 0, 1.0, empty) or its name
// begins with an underscore. Dropout rates are skipped: the option model.dropout decides.
#pragma once

#include <string>
#include <string_view>

#include "runtime/network/models/config.h"

namespace penstock {

inline constexpr const char* kConfigFile = "config.json";
inline constexpr const char* kQuantisation = "quantization_config";  // a member of it

struct HubConfig {
  std::string family;  // the member model_type: "gpt2", "llama", ... (names.h)
  ModelConfig model;   // of kind "decoder"; has transformers' defaults where config.json has none
  bool mxfp4 = false;  // it says that experts are in MXFP4 (mxfp4.h); tensors tell whether they are
};

// The network that `text` describes. `where` is the file's path, for messages. Throws Error(Data)
// for text that is no JSON, Error(Input) for a network that is not supported; both name `where`,
// the member and what to do.
[[nodiscard]] HubConfig parse_hub_config(std::string_view text, const std::string& where);

// Reads the file in `folder` and calls parse_hub_config(). Throws Error(Input) also if there is no
// such file.
[[nodiscard]] HubConfig read_hub_config(const std::string& folder);

}  // namespace penstock
