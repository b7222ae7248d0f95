// runtime/network/models/adapter_names.h -- the names of adapters' parameters (LoRA, Hu et al.
// 2021: a small trained product B A beside a large matrix W that stays as it is).
//
// Beside the matrix W, "blocks.0.attention.query.weight" [out, in], there are A,
// "blocks.0.attention.query.lora_a" [rank, in], and B, "blocks.0.attention.query.lora_b" [out,
// rank]. Whoever reads or writes adapters in files tells them by these endings.
#pragma once

#include <string>
#include <string_view>

namespace penstock {

inline constexpr std::string_view kAdapterA = ".lora_a";  // [rank, in], uniform at first
inline constexpr std::string_view kAdapterB = ".lora_b";  // [out, rank], zeros at first

// Whether a parameter of that name is an A or a B.
[[nodiscard]] inline bool is_of_adapter(std::string_view parameter) {
  return parameter.ends_with(kAdapterA) || parameter.ends_with(kAdapterB);
}

// The layer's name in a parameter's name, all before the last dot: "blocks.0.attention.query" of
// "blocks.0.attention.query.lora_a" and of "blocks.0.attention.query.weight".
[[nodiscard]] inline std::string layer_of(std::string_view parameter) {
  return std::string(parameter.substr(0, parameter.rfind('.')));
}

}  // namespace penstock
