// runtime/records/hub/adapters/adapter_folder.h -- adapter_config.json of the folders that peft
// writes, in and out. Such a folder has adapters (LoRA) and names the network that they belong to.
//
// Plain LoRA is read, alike in all layers. What else a folder asks for, or may ask for, is refused
// by name. How its weights were initialised does not matter, unless that changed the network's own.
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

// The [lora] section that says the same adapters, with rank, alpha, dropout and targets; `from` is
// left empty. Throws Error naming `where`, its member and what to do: of kind Data for what is no
// JSON, of kind Input for adapters that are not supported.
[[nodiscard]] LoraConfig parse_adapter_config(std::string_view text, const std::string& where);

// The same for the file in a folder. Throws Error(Input) as well where there is none.
[[nodiscard]] LoraConfig read_adapter_config(const std::filesystem::path& folder);

// The text of adapter_config.json for adapters of those names (ours); `base` says where the network
// is, empty where that is not known.
[[nodiscard]] std::string adapter_config_text(const LoraConfig& lora, const HubFamily& family,
                                              std::span<const std::string> adapters,
                                              const std::string& base);

}  // namespace penstock
