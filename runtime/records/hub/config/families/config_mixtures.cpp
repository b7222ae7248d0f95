#include "runtime/records/hub/config/families/config_mixtures.h"

#include <array>

#include "runtime/records/hub/config/config_common.h"
#include "runtime/records/hub/config/config_experts.h"
#include "runtime/records/hub/config/config_windows.h"

namespace penstock {

ModelConfig read_granite_moe(ConfigFields& fields) {
  ModelConfig model = read_llama_like(fields, {.same_heads = true});
  model.attention_bias = model.output_bias = fields.flag("attention_bias", false);
  refuse_windows(fields);
  read_granite_scales(fields, model);
  read_mixtral_experts(fields, model);
  return model;
}

ModelConfig read_granite_moe_shared(ConfigFields& fields) {
  ModelConfig model = read_granite_moe(fields);
  const nlohmann::json* shared = fields.any("shared_intermediate_size");
  if (shared == nullptr || *shared == 0) return model;  // no expert has all tokens
  model.shared_expert_width = fields.whole("shared_intermediate_size");
  return model;
}

ModelConfig read_dots1(ConfigFields& fields) {
  ModelConfig model = read_llama_like(fields, {});
  model.attention_bias = model.output_bias = fields.flag("attention_bias", false);
  model.query_key_norm = true;
  read_dots_window(fields, model);
  read_deepseek_experts(fields, {.dense = 0, .normalised = false}, model);
  return model;
}

ModelConfig read_glm4_moe(ConfigFields& fields) {
  ModelConfig model = read_llama_like(fields, {.share = RotaryShare::Chosen, .unsaid_share = 0.5});
  model.attention_bias = fields.flag("attention_bias", false);
  model.query_key_norm = fields.flag("use_qk_norm", false);
  refuse_windows(fields);
  read_deepseek_experts(fields, {.dense = 1, .normalised = true}, model);
  // Says how many layers behind the last predict further tokens. Files may be without them,
  // whatever it says; those that have them are refused when their tensors are looked at.
  constexpr std::array kFurther = {"num_nextn_predict_layers"};
  fields.ignore(kFurther);
  return model;
}

ModelConfig read_deepseek(ConfigFields& fields) {
  ModelConfig model = read_llama_like(fields, {});
  model.attention_bias = model.output_bias = fields.flag("attention_bias", false);
  refuse_windows(fields);
  read_first_deepseek_experts(fields, model);
  return model;
}

ModelConfig read_gpt_oss(ConfigFields& fields) {
  // These have defaults in transformers, which are the sizes of a published network.
  for (const char* key : {"head_dim", "sliding_window"}) {
    if (!fields.has(key) && !fields.is_null(key)) fields.refuse(key, "is missing");
  }
  if (!fields.has("rope_parameters") && !fields.has("rope_scaling")) {
    fields.refuse("rope_parameters", "is missing: it says how rotary positions are scaled");
  }
  ModelConfig model = read_llama_like(fields, {.rotary_base = 150000.0});
  model.attention_bias = model.output_bias = fields.flag("attention_bias", true);
  model.bias = true;
  model.attention_sinks = true;
  read_windows_or_none(fields, 2, model);
  read_mixtral_experts(fields, model);
  model.router_bias = true;
  model.expert_gate_limit = fields.number("swiglu_limit", 7.0);
  fields.must_be("swiglu_alpha", 1.702);
  fields.must_be("hidden_act", "silu");
  fields.must_be("experts_per_token", model.experts_per_token);
  constexpr std::array kOlder = {"initial_context_length"};  // is in rope_scaling
  fields.ignore(kOlder);
  return model;
}

}  // namespace penstock
