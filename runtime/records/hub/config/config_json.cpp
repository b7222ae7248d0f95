#include "runtime/records/hub/config/config_json.h"

#include <array>
#include <filesystem>

#include "kernels/error.h"
#include "kernels/joined.h"
#include "runtime/records/hub/config/config_common.h"
#include "runtime/records/hub/config/config_experts.h"
#include "runtime/records/hub/config/config_fields.h"
#include "runtime/records/hub/config/config_keys.h"
#include "runtime/records/hub/config/config_windows.h"
#include "runtime/records/hub/config/families/config_gemma.h"
#include "runtime/records/hub/config/families/config_mixtures.h"
#include "runtime/records/hub/config/families/config_more.h"
#include "runtime/records/hub/config/families/config_parallel.h"
#include "runtime/records/hub/kept_folder.h"
#include "runtime/system/files/json.h"

namespace penstock {
namespace {

using nlohmann::json;

// These members are refused if they are null: for them null means something else than a missing
// member.
constexpr std::array kNeverNull = {
    "tie_word_embeddings", "attention_bias",        "mlp_bias",           "rope_theta",
    "use_sliding_window",  "max_window_layers",     "scale_attn_weights", "rope_type",
    "logit_scale",         "use_parallel_residual", "rotary_pct",         "rotary_emb_base"};

void refuse_null(const ConfigFields& fields) {
  for (const char* key : kNeverNull) {
    if (fields.is_null(key)) fields.refuse(key, "is null: it has a value, or is not there");
  }
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

// ---- the readers of the families

ModelConfig read_gpt2(ConfigFields& fields) {
  ModelConfig model;
  model.layers = read_layers(fields, "n_layer");
  model.width = fields.whole("n_embd");
  model.heads = fields.whole("n_head");
  model.kv_heads = model.heads;
  if (model.width % model.heads != 0) fields.refuse("n_head", "does not divide n_embd");
  model.head_width = model.width / model.heads;
  model.hidden = fields.whole("n_inner", 4 * model.width);
  model.context = fields.whole("n_positions");
  model.activation = read_activation(fields, "activation_function");
  model.norm = "layer";
  model.norm_epsilon = fields.number("layer_norm_epsilon");
  model.positions = "learned";
  model.tied_embedding = fields.flag("tie_word_embeddings", true);
  fields.must_be("scale_attn_weights", true);
  fields.must_be("scale_attn_by_inverse_layer_idx", false);
  refuse_windows(fields);
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

ModelConfig read_granite(ConfigFields& fields) {
  ModelConfig model = read_llama(fields);
  read_granite_scales(fields, model);
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
  if (scaling != "none" && scaling != "longrope") {
    fields.refuse("rope_scaling", "is " + quoted(scaling) +
                                      ", which this family has not: default and longrope are "
                                      "supported");
  }
  if (scaling == "longrope" && !fields.has("original_max_position_embeddings")) {
    fields.refuse("original_max_position_embeddings", "is missing");
  }
  read_phi3_window(fields, model);
  // Phi-4-mini's folder names what the code published beside it could do otherwise.
  fields.must_be("full_attn_mod", 1);
  fields.must_be("interpolate_factor", 1);
  fields.must_be("lm_head_bias", false);
  fields.must_be("mlp_bias", false);
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

// Checks that no window is used; members about one may be there in these two families.
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

// Refuses quantised weights other than those that gpt-oss is published with.
bool says_mxfp4(ConfigFields& fields, const std::string& family) {
  const json* said = fields.any(kQuantisation);
  if (said == nullptr) return false;
  if (family == "gpt_oss" && said->is_object() && said->value("quant_method", json()) == "mxfp4") {
    return true;
  }
  fields.refuse(kQuantisation,
                "says that the weights are quantised: use the folder of the original ones");
}

using ReadFamily = ModelConfig (*)(ConfigFields&);

struct Family {
  const char* name;
  ReadFamily read;
};
constexpr Family kFamilies[] = {{"gpt2", read_gpt2},
                                {"llama", read_llama},
                                {"mistral", read_mistral},
                                {"qwen2", read_qwen2},
                                {"qwen3", read_qwen3},
                                {"granite", read_granite},
                                {"olmo2", read_olmo2},
                                {"smollm3", read_smollm3},
                                {"phi3", read_phi3},
                                {"gemma", read_gemma},
                                {"gemma2", read_gemma2},
                                {"gemma3_text", read_gemma3},
                                {"olmo3", read_olmo3},
                                {"ministral", read_ministral},
                                {"seed_oss", read_seed_oss},
                                {"exaone4", read_exaone4},
                                {"starcoder2", read_starcoder2},
                                {"stablelm", read_stablelm},
                                {"glm", read_glm},
                                {"glm4", read_glm4},
                                {"gpt_neox", read_gpt_neox},
                                {"cohere", read_cohere},
                                {"cohere2", read_cohere2},
                                {"mixtral", read_mixtral},
                                {"olmoe", read_olmoe},
                                {"qwen2_moe", read_qwen2_moe},
                                {"qwen3_moe", read_qwen3_moe},
                                {"granitemoe", read_granite_moe},
                                {"granitemoeshared", read_granite_moe_shared},
                                {"dots1", read_dots1},
                                {"glm4_moe", read_glm4_moe},
                                {"gpt_oss", read_gpt_oss},
                                {"deepseek", read_deepseek}};

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
  config.mxfp4 = says_mxfp4(fields, family);
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
