// runtime/records/hub/config/families/config_mixtures.h -- reads a config.json of mixtures of
// experts whose routers are not those of Mixtral and Qwen, or whose files have the matrices of all
// experts in one.
#pragma once

#include "runtime/network/models/config.h"
#include "runtime/records/hub/config/config_fields.h"

namespace penstock {

// The functions read members of `fields` and throw Error(Input) naming a member that cannot be.
[[nodiscard]] ModelConfig read_granite_moe(ConfigFields& fields);
// The same with an expert that has all tokens.
[[nodiscard]] ModelConfig read_granite_moe_shared(ConfigFields& fields);
// Families with DeepSeek-V3's router and plain attention.
[[nodiscard]] ModelConfig read_dots1(ConfigFields& fields);
[[nodiscard]] ModelConfig read_glm4_moe(ConfigFields& fields);
// DeepSeek-MoE (2024), whose router is a softmax.
[[nodiscard]] ModelConfig read_deepseek(ConfigFields& fields);
// Attention with sinks; each expert has biases, and a gate that is clamped.
[[nodiscard]] ModelConfig read_gpt_oss(ConfigFields& fields);

}  // namespace penstock
