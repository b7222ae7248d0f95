// runtime/records/hub/adapters/adapter_folder.h -- reads and writes adapter_config.json, the
// description of LoRA adapters in a folder made by Hugging Face's peft library: rank, alpha, which
// matrices have adapters, and which network they belong to.
//
// A folder of adapters has this file and adapter_model.safetensors with their weights
// (adapter_weights.h). Supported is plain LoRA with the same settings in all layers. A file that
// asks for anything else is refused with the name of the setting.
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

// Returns the [lora] section of a run file (rank, alpha, dropout, targets) that fits the adapters
// that `text` describes; its `from` stays empty. `where` is the file's path, for messages. Throws
// Error(Data) for text that is no JSON, Error(Input) for adapters that are not supported; both name
// `where`, the JSON member and what to do.
[[nodiscard]] LoraConfig parse_adapter_config(std::string_view text, const std::string& where);

// Reads the file in `folder` and calls parse_adapter_config(). Throws Error(Input) also if there is
// no such file.
[[nodiscard]] LoraConfig read_adapter_config(const std::filesystem::path& folder);

// The text of an adapter_config.json. `lora` has the settings, `family` is that of the network
// (names.h); `adapters` are the names of all adapter tensors as Penstock has them
// ("blocks.0.attention.query.lora_a"); `base` is the path or name of the network that they belong
// to, empty if it is not known.
[[nodiscard]] std::string adapter_config_text(const LoraConfig& lora, const HubFamily& family,
                                              std::span<const std::string> adapters,
                                              const std::string& base);

}  // namespace penstock
