// runtime/network/models/adapter_names.h -- what the parameters of adapters are called: beside the
// matrix "blocks.0.attention.query.weight" [out, in] lie "blocks.0.attention.query.lora_a" [rank,
// in] and "blocks.0.attention.query.lora_b" [out, rank]. `rank` is that of the adapter. Pure.
#pragma once

#include <string>
#include <string_view>

namespace penstock {

inline constexpr std::string_view kAdapterA = ".lora_a";  // [rank, in], uniform at first
inline constexpr std::string_view kAdapterB = ".lora_b";  // [out, rank], zeros at first

[[nodiscard]] inline bool is_of_adapter(std::string_view parameter) {
  return parameter.ends_with(kAdapterA) || parameter.ends_with(kAdapterB);
}

// "blocks.0.attention.query" of "blocks.0.attention.query.lora_a" and of
// "blocks.0.attention.query.weight": all before the last dot.
[[nodiscard]] inline std::string layer_of(std::string_view parameter) {
  return std::string(parameter.substr(0, parameter.rfind('.')));
}

}  // namespace penstock
