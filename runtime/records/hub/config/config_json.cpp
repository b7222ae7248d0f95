#include "runtime/records/hub/config/config_json.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <vector>

#include "kernels/error.h"
#include "kernels/joined.h"
#include "runtime/records/hub/config/config_experts.h"
#include "runtime/records/hub/config/config_fields.h"
#include "runtime/records/hub/config/config_keys.h"
#include "runtime/records/hub/config/config_windows.h"
#include "runtime/records/hub/kept_folder.h"
#include "runtime/system/files/json.h"

namespace penstock {
namespace {

using nlohmann::json;

// These members are refused if they are null: for them null means something else than a missing
// member.
constexpr std::array kNeverNull = {"tie_word_embeddings", "attention_bias",     "mlp_bias",
                                   "rope_theta",          "use_sliding_window", "max_window_layers",
                                   "scale_attn_weights",  "rope_type"};

constexpr int64_t kMostLayers = 10000;

void refuse_null(const ConfigFields& fields) {
  for (const char* key : kNeverNull) {
    if (fields.is_null(key)) fields.refuse(key, "is null: it has a value, or is not there");
  }
}

std::string activation(ConfigFields& fields, const char* key) {
  static const std::map<std::string, std::string> kOurs = {
      {"gelu_new", "gelu-tanh"}, {"gelu_pytorch_tanh", "gelu-tanh"},
      {"gelu", "gelu"},          {"relu", "relu"},
      {"silu", "silu"},          {"swish", "silu"}};
  const std::string theirs = fields.text(key);
  const auto found = kOurs.find(theirs);
  if (found == kOurs.end()) {
    fields.refuse(key, "is " + quoted(theirs) + ", which is none of gelu, gelu_new, relu and silu");
  }
  return found->second;
}

int64_t layers(ConfigFields& fields, const char* key) {
  const int64_t count = fields.whole(key);
  if (count > kMostLayers) fields.refuse(key, "is " + std::to_string(count) + ": too many layers");
  return count;
}

void check_task(ConfigFields& fields, const json& architectures) {
  if (!architectures.is_array()) fields.refuse("architectures", "must be a list of names");
  for (const json& name : architectures) {
    const std::string text = name.is_string() ? name.get<std::string>() : "?";
    if (text.ends_with("ForCausalLM") || text.ends_with("LMHeadModel")) continue;
    fields.refuse("architectures", "has " + quoted(text) +
                                       ", which is no language model: only ...ForCausalLM and "
                                       "...LMHeadModel are supported");
  }
}

// ---- rotary positions: transformers 5 has `rope_parameters`. Older versions have `rope_theta` and
// `rope_scaling`, whose type may be called "type".

// How much of a head rotary positions turn: all of it, or the share that a family may choose.
enum class RotaryShare : uint8_t { All, Chosen };

void read_rotary_share(ConfigFields& fields, RotaryShare share, ModelConfig& model) {
  constexpr const char* kShare = "partial_rotary_factor";
  if (share == RotaryShare::All) return fields.must_be(kShare, 1.0);
  if (!fields.has(kShare)) return;
  const double part = fields.number(kShare);
  if (part > 1.0) fields.refuse(kShare, "must be at most 1");
  const auto width = static_cast<int64_t>(static_cast<double>(model.head_width) * part);
  if (width < 2 || width % 2 != 0) {
    fields.refuse(kShare, "makes " + std::to_string(width) + " of the " +
                              std::to_string(model.head_width) +
                              " elements of a head, which are no pairs to be turned");
  }
  model.rotary_width = width == model.head_width ? 0 : width;
}

void read_scaling(const json& scaling, const std::string& where, RotaryShare share,
                  ModelConfig& model) {
  ConfigFields fields(scaling, where);
  refuse_null(fields);
  if (fields.has("type") && fields.has("rope_type")) fields.must_be("type", scaling["rope_type"]);
  const std::string type = fields.text(fields.has("rope_type") ? "rope_type" : "type", "default");
  model.rotary_base = fields.number("rope_theta", model.rotary_base);
  read_rotary_share(fields, share, model);
  if (type == "linear" || type == "llama3") {
    model.rotary_scaling = type;
    model.rotary_factor = fields.number("factor");
    if (model.rotary_factor < 1.0) fields.refuse("factor", "must be at least 1");
  } else if (type != "default") {
    fields.refuse("rope_type", "is " + quoted(type) +
                                   ": only default, linear and llama3 are "
                                   "supported");
  }
  if (type == "llama3") {
    model.rotary_low = fields.number("low_freq_factor");
    model.rotary_high = fields.number("high_freq_factor");
    model.rotary_original = fields.whole("original_max_position_embeddings");
    if (model.rotary_high <= model.rotary_low) {
      fields.refuse("high_freq_factor", "must be above low_freq_factor");
    }
  }
  fields.refuse_rest(leaves_all_as_it_is);
}

void read_rotary(ConfigFields& fields, RotaryShare share, ModelConfig& model) {
  model.positions = "rotary";
  read_rotary_share(fields, share, model);
  model.rotary_base = fields.number("rope_theta", model.rotary_base);
  const bool has_theta = fields.has("rope_theta");
  const double theta = model.rotary_base;
  for (const char* key : {"rope_scaling", "rope_parameters"}) {
    const json* scaling = fields.any(key);
    if (scaling == nullptr) continue;
    if (!scaling->is_object()) fields.refuse(key, "must be an object");
    if (model.rotary_scaling != "none") fields.refuse(key, "says again what rope_scaling does");
    read_scaling(*scaling, fields.where() + ", " + key, share, model);
  }
  if (has_theta && model.rotary_base != theta) {
    fields.refuse("rope_theta", "is not that of rope_parameters");
  }
}

// ---- the readers of the families

ModelConfig read_gpt2(ConfigFields& fields) {
  ModelConfig model;
  model.layers = layers(fields, "n_layer");
  model.width = fields.whole("n_embd");
  model.heads = fields.whole("n_head");
  model.kv_heads = model.heads;
  if (model.width % model.heads != 0) fields.refuse("n_head", "does not divide n_embd");
  model.head_width = model.width / model.heads;
  model.hidden = fields.whole("n_inner", 4 * model.width);
  model.context = fields.whole("n_positions");
  model.activation = activation(fields, "activation_function");
  model.norm = "layer";
  model.norm_epsilon = fields.number("layer_norm_epsilon");
  model.positions = "learned";
  model.tied_embedding = fields.flag("tie_word_embeddings", true);
  fields.must_be("scale_attn_weights", true);
  fields.must_be("scale_attn_by_inverse_layer_idx", false);
  refuse_windows(fields);
  return model;
}

// This is where families that are like Llama differ in what their config.json may say or leave out.
struct LlamaForm {
  bool same_heads = false;  // without num_key_value_heads as many as heads; else it must be there
  bool tied = false;        // what tie_word_embeddings is where it is not there
  double rotary_base = 10000.0;  // likewise rope_theta
  RotaryShare share = RotaryShare::All;
};

// Reads what Llama and all families like it have in common.
ModelConfig read_llama_like(ConfigFields& fields, const LlamaForm& form) {
  ModelConfig model;
  model.rotary_base = form.rotary_base;
  model.layers = layers(fields, "num_hidden_layers");
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
  model.activation = activation(fields, "hidden_act");
  model.gated = true;
  model.norm = "rms";
  model.norm_epsilon = fields.number("rms_norm_eps");
  model.tied_embedding = fields.flag("tie_word_embeddings", form.tied);
  model.attention_bias = model.output_bias = model.bias = false;
  read_rotary(fields, form.share, model);
  return model;
}

ModelConfig read_llama(ConfigFields& fields) {
  ModelConfig model = read_llama_like(fields, {.same_heads = true});
  model.attention_bias = model.output_bias = fields.flag("attention_bias", false);
  model.bias = fields.flag("mlp_bias", false);
  refuse_windows(fields);
  return model;
}

ModelConfig read_mistral(ConfigFields& fields) {
  ModelConfig model = read_llama_like(fields, {});
  read_mistral_window(fields, model);
  return model;
}

ModelConfig read_qwen2(ConfigFields& fields) {
  ModelConfig model = read_llama_like(fields, {});
  model.attention_bias = true;
  read_qwen_window(fields, model);
  return model;
}

ModelConfig read_qwen3(ConfigFields& fields) {
  // In transformers the default of head_dim is a fixed number, whatever the width. So a file
  // without head_dim is refused.
  if (!fields.has("head_dim")) fields.refuse("head_dim", "is missing");
  ModelConfig model = read_llama_like(fields, {});
  model.attention_bias = model.output_bias = fields.flag("attention_bias", false);
  model.query_key_norm = true;
  read_qwen_window(fields, model);
  return model;
}

double multiplier(ConfigFields& fields, const char* key) {
  const double factor = fields.number(key, 1.0);
  if (factor < 1e-9 || factor > 1e9) fields.refuse(key, "must be a number from 1e-9 to 1e9");
  return factor;
}

ModelConfig read_granite(ConfigFields& fields) {
  ModelConfig model = read_llama(fields);
  model.embedding_scale = multiplier(fields, "embedding_multiplier");
  model.residual_scale = multiplier(fields, "residual_multiplier");
  model.attention_scale = multiplier(fields, "attention_multiplier");
  model.logit_scale = 1.0 / multiplier(fields, "logits_scaling");
  return model;
}

ModelConfig read_olmo2(ConfigFields& fields) {
  ModelConfig model = read_llama_like(fields, {.same_heads = true});
  model.attention_bias = model.output_bias = fields.flag("attention_bias", false);
  model.norm_place = "after";
  model.query_key_norm = true;
  model.query_key_norm_over = "projection";
  refuse_windows(fields);
  return model;
}

ModelConfig read_smollm3(ConfigFields& fields) {
  ModelConfig model = read_llama_like(fields, {.tied = true, .rotary_base = 2e6});
  model.attention_bias = model.output_bias = fields.flag("attention_bias", false);
  model.bias = fields.flag("mlp_bias", false);
  read_smollm3_layers(fields, model);
  return model;
}

ModelConfig read_phi3(ConfigFields& fields) {
  ModelConfig model = read_llama_like(fields, {.same_heads = true, .share = RotaryShare::Chosen});
  const std::string& scaling = model.rotary_scaling;
  if (scaling != "none") {
    fields.refuse("rope_scaling", "is " + quoted(scaling) +
                                      ", which this family has not: only default is supported");
  }
  (void)fields.any("original_max_position_embeddings");  // counts with longrope alone
  read_phi3_window(fields, model);
  return model;
}

// ---- families of mixtures of experts

ModelConfig read_mixtral(ConfigFields& fields) {
  ModelConfig model = read_llama_like(fields, {.rotary_base = 1e6});
  read_phi3_window(fields, model);
  read_mixtral_experts(fields, model);
  return model;
}

ModelConfig read_olmoe(ConfigFields& fields) {
  ModelConfig model = read_llama_like(fields, {});
  model.attention_bias = model.output_bias = fields.flag("attention_bias", false);
  model.query_key_norm = true;
  model.query_key_norm_over = "projection";
  refuse_windows(fields);
  read_olmoe_experts(fields, model);
  return model;
}

// In these two families a window is there and not used.
void refuse_used_window(ConfigFields& fields) {
  fields.must_be("use_sliding_window", false);
  (void)fields.any("sliding_window");
  (void)fields.any("max_window_layers");
  refuse_windows(fields);
}

ModelConfig read_qwen2_moe(ConfigFields& fields) {
  ModelConfig model = read_llama_like(fields, {});
  model.attention_bias = fields.flag("qkv_bias", true);
  refuse_used_window(fields);
  read_qwen2_experts(fields, model);
  return model;
}

ModelConfig read_qwen3_moe(ConfigFields& fields) {
  ModelConfig model = read_llama_like(fields, {});
  model.attention_bias = model.output_bias = fields.flag("attention_bias", false);
  model.query_key_norm = true;
  refuse_used_window(fields);
  read_qwen_experts(fields, model);
  return model;
}

using ReadFamily = ModelConfig (*)(ConfigFields&);

struct Family {
  const char* name;
  ReadFamily read;
};
constexpr Family kFamilies[] = {
    {"gpt2", read_gpt2},          {"llama", read_llama},     {"mistral", read_mistral},
    {"qwen2", read_qwen2},        {"qwen3", read_qwen3},     {"granite", read_granite},
    {"olmo2", read_olmo2},        {"smollm3", read_smollm3}, {"phi3", read_phi3},
    {"mixtral", read_mixtral},    {"olmoe", read_olmoe},     {"qwen2_moe", read_qwen2_moe},
    {"qwen3_moe", read_qwen3_moe}};

ReadFamily reader_of(const ConfigFields& fields, const std::string& name) {
  for (const Family& family : kFamilies) {
    if (family.name == name) return family.read;
  }
  fields.refuse("model_type",
                "is " + quoted(name) + "; supported are " + joined(kFamilies, ", ", &Family::name));
}

}  // namespace

HubConfig parse_hub_config(std::string_view text, const std::string& where) {
  const json document = parse_json(text, where);
  ConfigFields fields(document, where);
  HubConfig config;
  const std::string family = fields.text("model_type");
  config.family = family;
  const ReadFamily read = reader_of(fields, family);
  if (fields.has("quantization_config")) {
    fields.refuse("quantization_config",
                  "says that the weights are quantised: use the folder of the original ones");
  }
  if (const json* architectures = fields.any("architectures")) check_task(fields, *architectures);
  refuse_null(fields);
  fields.must_be("is_encoder_decoder", false);
  fields.must_be("add_cross_attention", false);
  fields.must_be("tie_encoder_decoder", false);
  fields.must_be("pruned_heads", json::object());
  config.model = read(fields);
  config.model.kind = "decoder";
  config.model.vocabulary = fields.whole("vocab_size");
  fields.ignore(keys_without_effect());
  fields.refuse_rest(leaves_all_as_it_is);
  return config;
}

HubConfig read_hub_config(const std::string& folder) {
  finish_keeping(folder);
  constexpr int64_t kMostBytes = int64_t{1} << 20;
  const std::string path = folder + "/" + kConfigFile;
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) {
    fail_input(folder + " has no " + kConfigFile +
               ": name a folder as Hugging Face has them, with config.json and model.safetensors");
  }
  return parse_hub_config(read_text(path, kMostBytes, FileOwner::User), path);
}

}  // namespace penstock
