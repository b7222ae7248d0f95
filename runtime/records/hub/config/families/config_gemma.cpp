#include "runtime/records/hub/config/families/config_gemma.h"

#include <cmath>

#include "runtime/records/hub/config/config_common.h"
#include "runtime/records/hub/config/config_windows.h"

namespace penstock {
namespace {

ModelConfig read_any_gemma(ConfigFields& fields, LlamaForm form) {
  // In transformers the default of head_dim is a fixed number, whatever the width.
  if (!fields.has("head_dim")) fields.refuse("head_dim", "is missing");
  form.tied = true;
  ModelConfig model = read_llama_like(fields, form);
  model.attention_bias = model.output_bias = fields.flag("attention_bias", false);
  model.embedding_scale = std::sqrt(static_cast<double>(model.width));
  model.norm_zero_centered = true;
  fields.must_be("use_bidirectional_attention", false);
  return model;
}

// Gemma 2 and 3 have norms on both sides, and a number in place of the width of a head.
void read_scores(ConfigFields& fields, ModelConfig& model) {
  model.norm_place = "both";
  const int64_t scalar = fields.whole("query_pre_attn_scalar", 256);
  model.attention_scale =
      scalar == model.head_width ? 0.0 : 1.0 / std::sqrt(static_cast<double>(scalar));
}

// The cap that a member says. Null means that nothing is capped, and gives 0.
double read_softcap(ConfigFields& fields, const char* key, double unsaid) {
  return fields.number(key, fields.is_null(key) ? 0.0 : unsaid);
}

}  // namespace

ModelConfig read_gemma(ConfigFields& fields) {
  // The first folders say gelu and mean its tanh form, which hidden_activation may say too.
  const nlohmann::json* twice = fields.any("hidden_activation");
  if (twice != nullptr && *twice != "gelu_pytorch_tanh") {
    fields.refuse("hidden_activation", "is not gelu_pytorch_tanh: this model is not supported");
  }
  ModelConfig model = read_any_gemma(fields, {});
  if (model.activation == "gelu") model.activation = "gelu-tanh";
  refuse_windows(fields);
  return model;
}

ModelConfig read_gemma2(ConfigFields& fields) {
  ModelConfig model = read_any_gemma(fields, {.activation = "hidden_activation"});
  const nlohmann::json* twice = fields.any("hidden_act");  // is not read by transformers
  if (twice != nullptr && *twice != *fields.any("hidden_activation")) {
    fields.refuse("hidden_act", "is not what hidden_activation says");
  }
  read_scores(fields, model);
  model.attention_softcap = read_softcap(fields, "attn_logit_softcapping", 50.0);
  model.logit_softcap = read_softcap(fields, "final_logit_softcapping", 30.0);
  read_window_pattern(fields, 2, model);
  // The older name of sliding_window, which published folders have beside it.
  if (fields.has("sliding_window_size")) fields.must_be("sliding_window_size", model.window);
  return model;
}

ModelConfig read_gemma3(ConfigFields& fields) {
  ModelConfig model = read_any_gemma(
      fields, {.rotary_base = 1e6, .window_rotary_base = 1e4, .activation = "hidden_activation"});
  read_scores(fields, model);
  model.query_key_norm = true;
  model.logit_softcap = read_softcap(fields, "final_logit_softcapping", 0.0);
  read_window_pattern(fields, fields.whole("sliding_window_pattern", 6), model);
  if (model.window == 0) model.window_rotary_base = 0.0;
  return model;
}

}  // namespace penstock
