// runtime/records/hub/adapters/adapter_folder.h -- reads and writes the adapter_config.json of a
// folder of adapters (LoRA) as peft has them, which also names the network that they belong to.
//
// Plain LoRA, the same in all layers, is supported; whatever else a folder asks for is refused by
// name. How its weights were initialised matters only where that changed the network's own weights.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include "runtime/network/models/config.h"
#include "runtime/records/hub/names.h"

namespace penstock {

inline constexpr const char* kAdapterConfigFile = "adapter_config.json";
inline constexpr const char* kAdapterWeightsFile = "adapter_model.safetensors";

// The [lora] section for the adapters that `text` describes: rank, alpha, dropout and targets;
// `from` stays empty. Throws Error naming `where`, its member and what to do: of kind Data for what
// is no JSON, of kind Input for adapters that are not supported.
[[nodiscard]] LoraConfig parse_adapter_config(std::string_view text, const std::string& where);

// parse_adapter_config() of the file in `folder`. Throws Error(Input) as well where there is none.
[[nodiscard]] LoraConfig read_adapter_config(const std::filesystem::path& folder);

// The text of an adapter_config.json. `adapters`: their names, ours; `base`: where the network is,
// empty where that is not known.
[[nodiscard]] std::string adapter_config_text(const LoraConfig& lora, const HubFamily& family,
                                              std::span<const std::string> adapters,
                                              const std::string& base);

}  // namespace penstock
