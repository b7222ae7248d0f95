#include "runtime/records/hub/config/families/config_more.h"

#include <array>

#include "runtime/records/hub/config/config_common.h"
#include "runtime/records/hub/config/config_windows.h"

namespace penstock {

// OLMo 2 with windows in all but every fourth layer, whose positions are not scaled.
ModelConfig read_olmo3(ConfigFields& fields) {
  constexpr double kBase = 5e5;
  ModelConfig model = read_llama_like(
      fields, {.same_heads = true, .rotary_base = kBase, .window_rotary_base = kBase});
  model.attention_bias = model.output_bias = fields.flag("attention_bias", false);
  model.norm_place = "after";
  model.query_key_norm = true;
  model.query_key_norm_over = "projection";
  read_window_pattern(fields, 4, model);
  if (model.window == 0) model.window_rotary_base = 0.0;
  return model;
}

ModelConfig read_ministral(ConfigFields& fields) {
  ModelConfig model = read_llama_like(fields, {});
  read_windows_or_none(fields, 0, model);
  return model;
}

ModelConfig read_seed_oss(ConfigFields& fields) {
  // In transformers the default of head_dim is a fixed number, whatever the width.
  if (!fields.has("head_dim")) fields.refuse("head_dim", "is missing");
  ModelConfig model = read_llama_like(fields, {});
  model.attention_bias = fields.flag("attention_bias", true);
  model.output_bias = fields.flag("attention_out_bias", false);
  model.bias = fields.flag("mlp_bias", false);
  refuse_windows(fields);
  return model;
}

// Norms stand behind sub-layers. Where some layers have a window, only these have positions.
ModelConfig read_exaone4(ConfigFields& fields) {
  ModelConfig model = read_llama_like(fields, {});
  model.norm_place = "after";
  model.query_key_norm = true;
  // A pattern such as "LLLG" is spelled out by layer_types; without windows it says nothing.
  const bool windows = !fields.is_null("sliding_window");
  const nlohmann::json* pattern = fields.any("sliding_window_pattern");
  const bool counts = windows && !fields.has("layer_types");
  if (counts && pattern != nullptr && !pattern->is_number()) {
    fields.refuse("sliding_window_pattern", "is no number, and there is no layer_types");
  }
  read_windows_or_none(fields, counts ? fields.whole("sliding_window_pattern", 4) : 1, model);
  model.rotary_layers = model.window_layers;
  if (windows && model.window == 0) model.positions = "none";
  return model;
}

ModelConfig read_starcoder2(ConfigFields& fields) {
  ModelConfig model =
      read_llama_like(fields, {.tied = true, .norm = "layer", .epsilon = "norm_epsilon"});
  model.gated = false;
  model.attention_bias = model.output_bias = model.bias = fields.flag("use_bias", true);
  model.window = fields.has("sliding_window") ? fields.whole("sliding_window") : 0;
  refuse_other_windows(fields, model);
  // The published folders still have what an earlier class could choose. transformers reads none of
  // these any more, and takes the activation from hidden_act.
  constexpr std::array kOlder = {"activation_function", "layer_norm_epsilon"};
  fields.ignore(kOlder);
  fields.must_be("mlp_type", "default");
  fields.must_be("norm_type", "layer_norm");
  fields.must_be("scale_attn_weights", true);
  fields.must_be("attention_softmax_in_fp32", true);
  fields.must_be("scale_attention_softmax_in_fp32", true);
  return model;
}

ModelConfig read_stablelm(ConfigFields& fields) {
  ModelConfig model = read_llama_like(fields, {.share = RotaryShare::Chosen,
                                               .unsaid_share = 0.25,
                                               .norm = "layer",
                                               .epsilon = "layer_norm_eps"});
  require_divided_heads(fields, model);
  model.attention_bias = fields.flag("use_qkv_bias", false);
  // Both halves of a block read one norm where they stand side by side.
  model.parallel_branches = model.shared_norm = fields.flag("use_parallel_residual", false);
  fields.must_be("qk_layernorm", false);
  refuse_windows(fields);
  return model;
}

// Positions turn neighbours, by default in half of each head.
ModelConfig read_glm(ConfigFields& fields) {
  // In transformers the default of head_dim is a fixed number, whatever the width.
  if (!fields.has("head_dim")) fields.refuse("head_dim", "is missing");
  ModelConfig model = read_llama_like(fields, {.share = RotaryShare::Chosen, .unsaid_share = 0.5});
  model.attention_bias = fields.flag("attention_bias", true);
  model.rotary_pairs = "neighbours";
  refuse_windows(fields);
  return model;
}

ModelConfig read_glm4(ConfigFields& fields) {
  ModelConfig model = read_glm(fields);
  model.norm_place = "both";
  return model;
}

}  // namespace penstock
