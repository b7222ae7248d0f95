#include "runtime/records/hub/config/made_config.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <vector>

#include "kernels/error.h"
#include "kernels/joined.h"
#include "runtime/records/hub/config/config_json.h"
#include "runtime/records/hub/config/made_experts.h"
#include "runtime/system/files/json.h"

namespace penstock {
namespace {

using nlohmann::ordered_json;

// These are the settings of a network that a family cannot express. Each entry names a key of the
// run file with the value that the family would take.
using Obstacles = std::vector<std::string>;

// Returns the number that scores of attention are multiplied by unless a key says another.
double usual_scale(const ModelConfig& model) {
  return 1.0 / std::sqrt(static_cast<double>(model.head_width));
}

// Returns the model with the defaults of its sizes filled in. window_layers is emptied if all
// layers have the same window, or if none has a window.
ModelConfig spelled_out(ModelConfig model) {
  if (model.width == 0) model.width = 128;
  if (model.head_width == 0) model.head_width = model.width / model.heads;
  if (model.hidden == 0) model.hidden = 4 * model.width;
  if (model.kv_heads == 0) model.kv_heads = model.heads;
  const bool all_alike = model.window == 0 || std::ssize(model.window_layers) == model.layers;
  if (all_alike) model.window_layers.clear();
  if (std::ssize(model.rotary_layers) == model.layers) model.rotary_layers.clear();
  if (model.rotary_width == model.head_width) model.rotary_width = 0;
  if (!model.query_key_norm) model.query_key_norm_over = "head";
  if (model.attention_scale == 0.0) model.attention_scale = usual_scale(model);
  if (model.expert_width == 0) model.expert_width = model.hidden;
  return model;
}

void add_unless(bool fits, const char* what, Obstacles& obstacles) {
  if (!fits) obstacles.emplace_back(what);
}

Obstacles of_every_family(const ModelConfig& model) {
  Obstacles all;
  add_unless(model.final_norm, "model.final_norm = true", all);
  add_unless(model.logit_clip == 0.0, "model.logit_clip = 0", all);
  return all;
}

void add_scales(const ModelConfig& model, Obstacles& all) {
  add_unless(model.embedding_scale == 1.0, "model.embedding_scale = 1", all);
  add_unless(model.residual_scale == 1.0, "model.residual_scale = 1", all);
  add_unless(model.attention_scale == usual_scale(model), "model.attention_scale = 0", all);
  add_unless(model.logit_scale == 1.0, "model.logit_scale = 1", all);
}

Obstacles of_gpt2(const ModelConfig& model) {
  Obstacles all = of_every_family(model);
  add_unless(model.positions == "learned", "model.positions = \"learned\"", all);
  add_unless(model.norm == "layer", "model.norm = \"layer\"", all);
  add_unless(model.norm_place == "before", "model.norm_place = \"before\"", all);
  add_unless(!model.gated, "model.gated = false", all);
  add_unless(model.attention_bias, "model.attention_bias = true", all);
  add_unless(model.output_bias, "model.output_bias = true", all);
  add_unless(model.bias, "model.bias = true", all);
  add_unless(!model.query_key_norm, "model.query_key_norm = false", all);
  add_unless(model.window == 0, "model.window = 0", all);
  add_unless(model.window_layers.empty(), "model.window_layers = []", all);
  add_unless(model.kv_heads == model.heads, "as many model.kv_heads as heads", all);
  add_unless(model.experts == 0, "model.experts = 0", all);
  add_unless(model.heads * model.head_width == model.width, "heads as wide as model.width", all);
  add_scales(model, all);
  return all;
}

// Says which layers of a family can have a sliding window.
enum class Windows : uint8_t { None, AllOrNone, Any };

struct LlamaLike {
  const char* name;
  const char* architecture;
  Windows windows = Windows::None;
  bool query_key_norm = false;
  bool any_bias = false;        // can have attention_bias and output_bias, but not one alone
  bool mixed_bias = false;      // always has attention_bias, and no output_bias
  bool qkv_bias = false;        // can have attention_bias, and no output_bias
  bool hidden_bias = false;     // can have model.bias
  bool scales = false;          // can have multipliers, model.embedding_scale and its like
  bool norms_after = false;     // norms behind sub-layers, those of queries and keys over all heads
  bool some_rotary = false;     // can have layers without rotary positions
  bool partial_rotary = false;  // can turn a part of each head alone
  ExpertForm experts = ExpertForm::None;
  bool norm_whole = false;  // those of queries and keys over all heads, the others before
};
constexpr LlamaLike kLlamaLike[] = {
    {.name = "llama", .architecture = "LlamaForCausalLM", .any_bias = true, .hidden_bias = true},
    {.name = "mistral", .architecture = "MistralForCausalLM", .windows = Windows::AllOrNone},
    {.name = "qwen2",
     .architecture = "Qwen2ForCausalLM",
     .windows = Windows::Any,
     .mixed_bias = true},
    {.name = "qwen3",
     .architecture = "Qwen3ForCausalLM",
     .windows = Windows::Any,
     .query_key_norm = true,
     .any_bias = true},
    {.name = "granite",
     .architecture = "GraniteForCausalLM",
     .any_bias = true,
     .hidden_bias = true,
     .scales = true},
    {.name = "olmo2",
     .architecture = "Olmo2ForCausalLM",
     .query_key_norm = true,
     .any_bias = true,
     .norms_after = true},
    {.name = "smollm3",
     .architecture = "SmolLM3ForCausalLM",
     .any_bias = true,
     .hidden_bias = true,
     .some_rotary = true},
    {.name = "phi3",
     .architecture = "Phi3ForCausalLM",
     .windows = Windows::AllOrNone,
     .partial_rotary = true},
    {.name = "mixtral",
     .architecture = "MixtralForCausalLM",
     .windows = Windows::AllOrNone,
     .experts = ExpertForm::Mixtral},
    {.name = "olmoe",
     .architecture = "OlmoeForCausalLM",
     .query_key_norm = true,
     .any_bias = true,
     .experts = ExpertForm::Olmoe,
     .norm_whole = true},
    {.name = "qwen2_moe",
     .architecture = "Qwen2MoeForCausalLM",
     .qkv_bias = true,
     .experts = ExpertForm::QwenShared},
    {.name = "qwen3_moe",
     .architecture = "Qwen3MoeForCausalLM",
     .query_key_norm = true,
     .any_bias = true,
     .experts = ExpertForm::Qwen},
};

Obstacles of_family(const ModelConfig& model, const LlamaLike& family) {
  Obstacles all = of_every_family(model);
  add_unless(model.positions == "rotary", "model.positions = \"rotary\"", all);
  add_unless(model.norm == "rms", "model.norm = \"rms\"", all);
  add_unless(model.gated, "model.gated = true", all);
  add_unless(model.window == 0 || family.windows != Windows::None, "model.window = 0", all);
  add_unless(model.window_layers.empty() || family.windows == Windows::Any,
             "model.window_layers = []", all);
  add_unless(model.query_key_norm == family.query_key_norm,
             family.query_key_norm ? "model.query_key_norm = true" : "model.query_key_norm = false",
             all);
  const bool whole = family.norms_after || family.norm_whole;
  add_unless(
      model.query_key_norm_over == (whole ? "projection" : "head"),
      whole ? "model.query_key_norm_over = \"projection\"" : "model.query_key_norm_over = \"head\"",
      all);
  add_unless(model.norm_place == (family.norms_after ? "after" : "before"),
             family.norms_after ? "model.norm_place = \"after\"" : "model.norm_place = \"before\"",
             all);
  if (!family.scales) add_scales(model, all);
  add_unless(model.rotary_layers.empty() || family.some_rotary, "model.rotary_layers = []", all);
  add_unless(model.rotary_width == 0 || family.partial_rotary, "model.rotary_width = 0", all);
  add_unless(model.window_rotary_base == 0.0, "model.window_rotary_base = 0", all);
  add_expert_obstacles(model, family.experts, all);
  add_unless(!model.bias || family.hidden_bias, "model.bias = false", all);
  if (family.mixed_bias) {
    add_unless(model.attention_bias, "model.attention_bias = true", all);
    add_unless(!model.output_bias, "model.output_bias = false", all);
  } else if (family.any_bias) {
    add_unless(model.attention_bias == model.output_bias,
               "model.output_bias as model.attention_bias", all);
  } else if (family.qkv_bias) {
    add_unless(!model.output_bias, "model.output_bias = false", all);
  } else {
    add_unless(!model.attention_bias, "model.attention_bias = false", all);
    add_unless(!model.output_bias, "model.output_bias = false", all);
  }
  return all;
}

std::string their_activation(const std::string& ours, const char* tanh_form) {
  return ours == "gelu-tanh" ? tanh_form : ours;
}

ordered_json gpt2_config(const ModelConfig& model) {
  return {{"model_type", "gpt2"},
          {"architectures", {"GPT2LMHeadModel"}},
          {"activation_function", their_activation(model.activation, "gelu_new")},
          {"n_layer", model.layers},
          {"n_embd", model.width},
          {"n_head", model.heads},
          {"n_inner", model.hidden},
          {"n_positions", model.context},
          {"layer_norm_epsilon", model.norm_epsilon}};
}

ordered_json rotary_config(const ModelConfig& model) {
  ordered_json rotary = {{"rope_theta", model.rotary_base}, {"rope_type", "default"}};
  if (model.rotary_width > 0) {
    const auto head = static_cast<double>(model.head_width);
    double share = static_cast<double>(model.rotary_width) / head;
    // The reader of the file cuts off what is behind the point.
    while (static_cast<int64_t>(head * share) < model.rotary_width)
      share = std::nextafter(share, 1.0);
    rotary["partial_rotary_factor"] = share;
  }
  if (model.rotary_scaling == "none") return rotary;
  rotary["rope_type"] = model.rotary_scaling;
  rotary["factor"] = model.rotary_factor;
  if (model.rotary_scaling != "llama3") return rotary;
  rotary["low_freq_factor"] = model.rotary_low;
  rotary["high_freq_factor"] = model.rotary_high;
  rotary["original_max_position_embeddings"] = model.rotary_original;
  return rotary;
}

ordered_json layer_types(const ModelConfig& model) {
  ordered_json types = ordered_json::array();
  for (int64_t i = 0; i < model.layers; ++i) {
    const bool windowed = std::ranges::binary_search(model.window_layers, i);
    types.push_back(windowed ? "sliding_attention" : "full_attention");
  }
  return types;
}

// SmolLM3's list, whose 1 says that a layer has rotary positions, whatever its name.
ordered_json no_rope_layers(const ModelConfig& model) {
  ordered_json turned = ordered_json::array();
  for (int64_t i = 0; i < model.layers; ++i) {
    const bool has =
        model.rotary_layers.empty() || std::ranges::binary_search(model.rotary_layers, i);
    turned.push_back(has ? 1 : 0);
  }
  return turned;
}

ordered_json llama_like_config(const ModelConfig& model, const LlamaLike& family) {
  ordered_json config = {{"model_type", family.name},
                         {"architectures", {family.architecture}},
                         {"hidden_act", their_activation(model.activation, "gelu_pytorch_tanh")},
                         {"num_hidden_layers", model.layers},
                         {"hidden_size", model.width},
                         {"num_attention_heads", model.heads},
                         {"num_key_value_heads", model.kv_heads},
                         {"head_dim", model.head_width},
                         {"intermediate_size", model.hidden},
                         {"max_position_embeddings", model.context},
                         {"rms_norm_eps", model.norm_epsilon},
                         {"rope_parameters", rotary_config(model)},
                         // Unsaid it is a token of the published vocabulary, maybe past our last.
                         {"pad_token_id", nullptr}};
  if (family.any_bias) config["attention_bias"] = model.attention_bias;
  if (family.hidden_bias) config["mlp_bias"] = model.bias;
  if (family.scales) {
    config["embedding_multiplier"] = model.embedding_scale;
    config["residual_multiplier"] = model.residual_scale;
    config["attention_multiplier"] = model.attention_scale;
    config["logits_scaling"] = 1.0 / model.logit_scale;
  }
  add_expert_members(model, family.experts, config);
  if (family.some_rotary) config["no_rope_layers"] = no_rope_layers(model);
  if (family.windows == Windows::None) return config;
  // A sliding_window of null means that a position attends to all positions before it.
  config["sliding_window"] = model.window > 0 ? ordered_json(model.window) : ordered_json();
  if (family.windows == Windows::AllOrNone || model.window == 0) return config;
  config["use_sliding_window"] = true;
  config["max_window_layers"] = model.window_layers.empty() ? 0 : model.window_layers.front();
  if (!model.window_layers.empty()) config["layer_types"] = layer_types(model);
  return config;
}

struct Candidate {
  Obstacles obstacles;
  ordered_json config;
};

// Returns the family with the fewest obstacles. Among equals the first wins: families are tried
// from the plainest on.
Candidate nearest(const ModelConfig& model) {
  Candidate best{of_gpt2(model), gpt2_config(model)};
  for (const LlamaLike& family : kLlamaLike) {
    if ((family.experts == ExpertForm::None) != (model.experts == 0)) continue;
    Obstacles obstacles = of_family(model, family);
    if (obstacles.size() >= best.obstacles.size()) continue;
    best = {std::move(obstacles), llama_like_config(model, family)};
  }
  return best;
}

// Returns the settings in which the network and the config.json written for it must be equal.
auto facts(const ModelConfig& m) {
  // A number that the network's form of positions does not use counts as 0.
  const double base = m.positions == "rotary" ? m.rotary_base : 0;
  const double factor = m.rotary_scaling != "none" ? m.rotary_factor : 0;
  const bool bands = m.rotary_scaling == "llama3";
  const bool mixture = m.experts > 0;
  return std::tuple(
      m.layers, m.width, m.heads, m.kv_heads, m.head_width, m.hidden, m.context, m.vocabulary,
      m.activation, m.positions, m.attention_bias, m.output_bias, m.bias, m.tied_embedding, m.gated,
      m.norm, m.norm_epsilon, m.query_key_norm, m.window, m.window_layers, m.rotary_scaling, base,
      factor, bands ? m.rotary_low : 0, bands ? m.rotary_high : 0, bands ? m.rotary_original : 0,
      m.query_key_norm_over, m.norm_place, m.rotary_width, m.rotary_layers, m.embedding_scale,
      m.residual_scale, m.attention_scale, static_cast<float>(m.logit_scale), m.experts,
      mixture ? m.experts_per_token : 0, mixture ? m.expert_width : 0,
      mixture ? m.shared_expert_width : 0, mixture && m.shared_expert_gate,
      mixture && m.router_normalised, m.dense_layers);
}

}  // namespace

MadeConfig make_hub_config(const ModelConfig& model) {
  if (model.kind != "decoder") {
    fail_input("model.kind = " + quoted(model.kind) +
               " is no network that transformers knows: a decoder can be exported");
  }
  const ModelConfig wanted = spelled_out(model);
  Candidate found = nearest(wanted);
  const std::string family = found.config["model_type"];
  if (!found.obstacles.empty()) {
    fail_input("no family that transformers knows says this network; the nearest, " + family +
               ", would take " + joined(found.obstacles, ", "));
  }
  found.config["tie_word_embeddings"] = wanted.tied_embedding;
  found.config["vocab_size"] = wanted.vocabulary;
  found.config["dtype"] = "float32";
  MadeConfig made{family, found.config.dump(2) + "\n"};
  if (facts(spelled_out(parse_hub_config(made.text, "config.json").model)) != facts(wanted)) {
    fail_internal("the config.json of the family " + family + " says another network");
  }
  return made;
}

std::string family_of(const ModelConfig& model) {
  if (!model.from.empty()) return read_hub_config(model.from).family;
  ModelConfig known = model;
  known.vocabulary = std::max<int64_t>(1, model.vocabulary);  // it is 0 before the data set it
  return make_hub_config(known).family;
}

}  // namespace penstock
