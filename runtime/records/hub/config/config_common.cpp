#include "runtime/records/hub/config/config_common.h"

#include <algorithm>
#include <map>

#include "runtime/system/files/json.h"

namespace penstock {

std::string read_activation(ConfigFields& fields, const char* key) {
  static const std::map<std::string, std::string> kOurs = {
      {"gelu_new", "gelu-tanh"},  {"gelu_pytorch_tanh", "gelu-tanh"},
      {"gelu_fast", "gelu-tanh"}, {"gelu", "gelu"},
      {"relu", "relu"},           {"silu", "silu"},
      {"swish", "silu"}};
  const std::string theirs = fields.text(key);
  const auto found = kOurs.find(theirs);
  if (found == kOurs.end()) {
    fields.refuse(key, "is " + quoted(theirs) + ", which is none of gelu, gelu_new, relu and silu");
  }
  return found->second;
}

int64_t read_layers(ConfigFields& fields, const char* key) {
  constexpr int64_t kMostLayers = 10000;
  const int64_t count = fields.whole(key);
  if (count > kMostLayers) fields.refuse(key, "is " + std::to_string(count) + ": too many layers");
  return count;
}

double read_multiplier(ConfigFields& fields, const char* key, double unsaid) {
  const double factor = fields.number(key, unsaid);
  if (factor < 1e-9 || factor > 1e9) fields.refuse(key, "must be a number from 1e-9 to 1e9");
  return factor;
}

void require_divided_heads(const ConfigFields& fields, const ModelConfig& model) {
  if (model.heads * model.head_width == model.width) return;
  fields.refuse("head_dim", "times num_attention_heads is not hidden_size");
}

void read_granite_scales(ConfigFields& fields, ModelConfig& model) {
  model.embedding_scale = read_multiplier(fields, "embedding_multiplier");
  model.residual_scale = read_multiplier(fields, "residual_multiplier");
  model.attention_scale = read_multiplier(fields, "attention_multiplier");
  model.logit_scale = 1.0 / read_multiplier(fields, "logits_scaling");
}

ModelConfig read_llama_like(ConfigFields& fields, const LlamaForm& form) {
  ModelConfig model;
  model.rotary_base = form.rotary_base;
  model.window_rotary_base = form.window_rotary_base;
  model.layers = read_layers(fields, "num_hidden_layers");
  model.width = fields.whole("hidden_size");
  model.heads = fields.whole("num_attention_heads");
  model.kv_heads = form.same_heads ? fields.whole("num_key_value_heads", model.heads)
                                   : fields.whole("num_key_value_heads");
  if (model.heads % model.kv_heads != 0) {
    fields.refuse("num_key_value_heads", "does not divide num_attention_heads");
  }
  if (!fields.has("head_dim") && model.width % model.heads != 0) {
    fields.refuse("num_attention_heads", "does not divide hidden_size, and there is no head_dim");
  }
  model.head_width = fields.whole("head_dim", std::max<int64_t>(1, model.width / model.heads));
  if (model.head_width % 2 != 0)
    fields.refuse("head_dim", "is odd, which rotary positions cannot be");
  model.hidden = fields.whole("intermediate_size");
  model.context = fields.whole("max_position_embeddings");
  model.activation = read_activation(fields, form.activation);
  model.gated = true;
  model.norm = form.norm;
  model.norm_epsilon = fields.number(form.epsilon);
  model.tied_embedding = fields.flag("tie_word_embeddings", form.tied);
  model.attention_bias = model.output_bias = model.bias = false;
  if (form.window_rotary_base > 0.0) {
    read_rotary_by_layer(fields, model);
  } else {
    read_rotary(fields, form.share, model, form.unsaid_share);
  }
  return model;
}

}  // namespace penstock
