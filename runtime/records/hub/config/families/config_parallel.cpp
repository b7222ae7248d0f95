#include "runtime/records/hub/config/families/config_parallel.h"

#include <array>

#include "runtime/records/hub/config/config_common.h"
#include "runtime/records/hub/config/config_windows.h"

namespace penstock {
namespace {

// What Cohere's families have in common: one norm before both halves of a block, layer norms
// without biases, and positions that turn neighbours.
ModelConfig read_any_cohere(ConfigFields& fields, double rotary_base) {
  ModelConfig model = read_llama_like(fields, {.same_heads = true,
                                               .tied = true,
                                               .rotary_base = rotary_base,
                                               .norm = "layer",
                                               .epsilon = "layer_norm_eps"});
  require_divided_heads(fields, model);
  model.attention_bias = model.output_bias = fields.flag("attention_bias", false);
  model.logit_scale = read_multiplier(fields, "logit_scale", 0.0625);
  model.norm_bias = false;
  model.parallel_branches = model.shared_norm = true;
  model.rotary_pairs = "neighbours";
  fields.must_be("use_qk_norm", false);
  return model;
}

}  // namespace

// The base of positions and the share of a head that they turn have names of their own; later files
// have the usual names, too.
ModelConfig read_gpt_neox(ConfigFields& fields) {
  const double share = fields.number("rotary_pct", 0.25);
  const double base = fields.number("rotary_emb_base", 10000.0);
  if (fields.has("partial_rotary_factor")) fields.must_be("partial_rotary_factor", share);
  if (fields.has("rope_theta")) fields.must_be("rope_theta", base);
  ModelConfig model = read_llama_like(fields, {.same_heads = true,
                                               .rotary_base = base,
                                               .share = RotaryShare::Chosen,
                                               .unsaid_share = share,
                                               .norm = "layer",
                                               .epsilon = "layer_norm_eps"});
  require_divided_heads(fields, model);
  if (model.kv_heads != model.heads) {
    fields.refuse("num_key_value_heads", "is not num_attention_heads, as in all of this family");
  }
  model.gated = false;
  model.attention_bias = model.output_bias = fields.flag("attention_bias", true);
  model.bias = true;
  model.parallel_branches = fields.flag("use_parallel_residual", true);
  refuse_windows(fields);
  return model;
}

ModelConfig read_cohere(ConfigFields& fields) {
  ModelConfig model = read_any_cohere(fields, 5e5);
  refuse_windows(fields);
  return model;
}

// Layers with a window alone have positions.
ModelConfig read_cohere2(ConfigFields& fields) {
  ModelConfig model = read_any_cohere(fields, 1e4);
  const int64_t pattern = fields.whole("sliding_window_pattern", 4);
  read_window_pattern(fields, pattern, model);
  model.rotary_layers = model.window_layers;
  if (model.window == 0) model.positions = "none";
  // The published folders name what the code that trained them could do otherwise. transformers
  // reads none of these.
  constexpr std::array kOlder = {"use_parallel_embedding"};
  fields.ignore(kOlder);
  fields.must_be("layer_switch", pattern);
  fields.must_be("order_of_interleaved_layers", "local_attn_first");
  fields.must_be("position_embedding_type", "rope_gptj");
  fields.must_be("rotary_pct", 1.0);
  fields.must_be("use_embedding_sharing", model.tied_embedding);
  fields.must_be("use_gated_activation", true);
  fields.must_be("use_parallel_block", true);
  return model;
}

}  // namespace penstock
