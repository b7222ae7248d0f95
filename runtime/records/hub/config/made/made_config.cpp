#include "runtime/records/hub/config/made/made_config.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <vector>

#include "kernels/error.h"
#include "kernels/joined.h"
#include "runtime/network/models/transformer_parts.h"
#include "runtime/records/hub/config/config_json.h"
#include "runtime/records/hub/config/made/made_experts.h"
#include "runtime/records/hub/config/made/made_families.h"
#include "runtime/system/files/json.h"

namespace penstock {
namespace {

using nlohmann::ordered_json;

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
  if (model.norm == "rms") model.norm_bias = true;
  if (model.positions != "rotary") model.rotary_pairs = "halves";
  const bool as_others =
      model.rotary_scaling == "none" && model.window_rotary_base == model.rotary_base;
  if (model.window == 0 || as_others) model.window_rotary_base = 0.0;
  model.rotary_high = rotary_high_of(model);
  // These count for some scalings alone.
  const std::string& scaling = model.rotary_scaling;
  if (scaling != "yarn" && scaling != "longrope") model.rotary_attention_factor = 0.0;
  if (scaling != "longrope") {
    model.rotary_short.clear();
    model.rotary_long.clear();
  }
  if (scaling != "yarn") model.rotary_truncate = true;
  if (model.attention_scale == 0.0) model.attention_scale = usual_scale(model);
  if (model.expert_width == 0) model.expert_width = model.hidden;
  if (model.expert_groups == model.groups_per_token)
    model.expert_groups = model.groups_per_token = 1;
  return model;
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

// The share of a head that is turned, of which the reader of the file cuts off what is behind the
// point of the product.
double rotary_share(const ModelConfig& model) {
  if (model.rotary_width == 0) return 1.0;
  const auto head = static_cast<double>(model.head_width);
  double share = static_cast<double>(model.rotary_width) / head;
  while (static_cast<int64_t>(head * share) < model.rotary_width) {
    share = std::nextafter(share, 1.0);
  }
  return share;
}

ordered_json rotary_config(const ModelConfig& model, const LlamaLike& family) {
  ordered_json rotary = {{"rope_theta", model.rotary_base}, {"rope_type", "default"}};
  if (family.partial_rotary) rotary["partial_rotary_factor"] = rotary_share(model);
  const std::string& scaling = model.rotary_scaling;
  if (scaling == "none") return rotary;
  rotary["rope_type"] = scaling;
  rotary["factor"] = model.rotary_factor;
  if (scaling == "linear" || scaling == "dynamic") return rotary;
  rotary["original_max_position_embeddings"] = model.rotary_original;
  if (scaling == "longrope") {
    rotary["short_factor"] = model.rotary_short;
    rotary["long_factor"] = model.rotary_long;
  } else {
    rotary[scaling == "yarn" ? "beta_slow" : "low_freq_factor"] = model.rotary_low;
    rotary[scaling == "yarn" ? "beta_fast" : "high_freq_factor"] = model.rotary_high;
  }
  if (!model.rotary_truncate) rotary["truncate"] = false;
  if (model.rotary_attention_factor > 0.0) {
    rotary["attention_factor"] = model.rotary_attention_factor;
  }
  return rotary;
}

// The rotary positions of families that have them by the kind of layer.
ordered_json rotary_by_layer(const ModelConfig& model, const LlamaLike& family) {
  const double base = model.window_rotary_base > 0.0 ? model.window_rotary_base : model.rotary_base;
  return {{"full_attention", rotary_config(model, family)},
          {"sliding_attention", {{"rope_theta", base}, {"rope_type", "default"}}}};
}

ordered_json layer_types(const ModelConfig& model) {
  ordered_json types = ordered_json::array();
  for (int64_t i = 0; i < model.layers; ++i) {
    const bool windowed = model.window > 0 && (model.window_layers.empty() ||
                                               std::ranges::binary_search(model.window_layers, i));
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

// A cap of null means that nothing is capped; a member that is not there has a value of its own.
ordered_json cap_or_null(double cap) {
  return cap > 0.0 ? ordered_json(cap) : ordered_json();
}

void say_biases(ordered_json& config, const ModelConfig& model, const LlamaLike& family) {
  const Biases biases = family.biases;
  if (biases == Biases::MaybeQueries) config[family.queries_bias] = model.attention_bias;
  if (biases == Biases::All) config["use_bias"] = model.bias;
  const bool each = biases == Biases::Each;
  const bool llama = biases == Biases::Llama;
  if (each || llama || biases == Biases::Attention || biases == Biases::Hidden) {
    config["attention_bias"] = model.attention_bias;
  }
  if (each) config["attention_out_bias"] = model.output_bias;
  if (each || llama) config["mlp_bias"] = model.bias;
}

ordered_json llama_like_config(const ModelConfig& model, const LlamaLike& family) {
  ordered_json config = {
      {"model_type", family.name},
      {"architectures", {family.architecture}},
      {family.activation, their_activation(model.activation, "gelu_pytorch_tanh")},
      {"num_hidden_layers", model.layers},
      {"hidden_size", model.width},
      {"num_attention_heads", model.heads},
      {"num_key_value_heads", model.kv_heads},
      {"head_dim", model.head_width},
      {"intermediate_size", model.hidden},
      {"max_position_embeddings", model.context},
      {family.epsilon, model.norm_epsilon},
      {"rope_parameters",
       family.window_rotary ? rotary_by_layer(model, family) : rotary_config(model, family)},
      // Unsaid it is a token of the published vocabulary, maybe past our last.
      {"pad_token_id", nullptr}};
  say_biases(config, model, family);
  if (family.scales) {
    config["embedding_multiplier"] = model.embedding_scale;
    config["residual_multiplier"] = model.residual_scale;
    config["attention_multiplier"] = model.attention_scale;
    config["logits_scaling"] = 1.0 / model.logit_scale;
  }
  if (family.logit_scale != nullptr) config[family.logit_scale] = model.logit_scale;
  if (family.blocks == Blocks::MaybeParallel || family.blocks == Blocks::MaybeShared) {
    config["use_parallel_residual"] = model.parallel_branches;
  }
  // Phi's reader takes this number from here.
  if (family.longrope_alone && model.rotary_scaling == "longrope") {
    config["original_max_position_embeddings"] = model.rotary_original;
  }
  if (family.scalar) config["query_pre_attn_scalar"] = query_scalar(model);
  if (family.score_softcap) config["attn_logit_softcapping"] = cap_or_null(model.attention_softcap);
  if (family.logit_softcap) config["final_logit_softcapping"] = cap_or_null(model.logit_softcap);
  add_expert_members(model, family.experts, config);
  if (family.maybe_query_key_norm) config["use_qk_norm"] = model.query_key_norm;
  if (family.some_rotary) config["no_rope_layers"] = no_rope_layers(model);
  if (family.windows == Windows::None) return config;
  // A sliding_window of null means that a position attends to all positions before it.
  config["sliding_window"] = model.window > 0 ? ordered_json(model.window) : ordered_json();
  if (family.layer_types) config["layer_types"] = layer_types(model);
  if (family.layer_types || family.windows == Windows::AllOrNone || model.window == 0)
    return config;
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
  Candidate best{obstacles_to_gpt2(model), gpt2_config(model)};
  for (const LlamaLike& family : llama_like_families()) {
    if ((family.experts == ExpertForm::None) != (model.experts == 0)) continue;
    Obstacles obstacles = obstacles_to(family, model);
    if (obstacles.size() >= best.obstacles.size()) continue;
    best = {std::move(obstacles), llama_like_config(model, family)};
  }
  return best;
}

auto facts_of_experts(const ModelConfig& m) {
  return std::tuple(m.experts_per_token, m.expert_width, m.shared_expert_width,
                    m.shared_expert_gate, m.router, m.router_normalised, m.router_scale,
                    m.router_bias, m.router_correction, m.expert_groups, m.groups_per_token,
                    m.dense_layers, m.expert_gate_limit);
}

// Returns the settings in which the network and the config.json written for it must be equal.
auto facts(const ModelConfig& m) {
  // A number that the network's form of positions does not use counts as 0.
  const double base = m.positions == "rotary" ? m.rotary_base : 0;
  const double factor = m.rotary_scaling != "none" ? m.rotary_factor : 0;
  const bool bands = m.rotary_scaling == "llama3" || m.rotary_scaling == "yarn";
  const bool original = m.rotary_scaling != "none" && m.rotary_scaling != "linear";
  return std::tuple(
      m.layers, m.width, m.heads, m.kv_heads, m.head_width, m.hidden, m.context, m.vocabulary,
      m.activation, m.positions, m.attention_bias, m.output_bias, m.bias, m.tied_embedding, m.gated,
      m.norm, m.norm_epsilon, m.query_key_norm, m.window, m.window_layers, m.rotary_scaling, base,
      factor, bands ? m.rotary_low : 0, bands ? m.rotary_high : 0, original ? m.rotary_original : 0,
      m.rotary_attention_factor, m.rotary_short, m.rotary_long, m.query_key_norm_over, m.norm_place,
      m.rotary_width, m.rotary_layers, m.window_rotary_base, static_cast<float>(m.embedding_scale),
      m.residual_scale, static_cast<float>(m.attention_scale), static_cast<float>(m.logit_scale),
      m.norm_zero_centered, m.attention_softcap, m.logit_softcap, m.experts, m.rotary_pairs,
      m.norm_bias, m.parallel_branches, m.shared_norm, m.attention_sinks, m.rotary_truncate,
      m.experts > 0 ? facts_of_experts(m) : facts_of_experts({}));
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
