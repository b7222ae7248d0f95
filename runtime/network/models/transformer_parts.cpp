#include "runtime/network/models/transformer_parts.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <map>
#include <optional>

#include "kernels/joined.h"
#include "runtime/network/layers/library/experts.h"
#include "runtime/network/layers/library/norm.h"
#include "runtime/network/layers/library/pointwise.h"
#include "runtime/network/models/adapters.h"
#include "runtime/network/models/models.h"

namespace penstock {
namespace {

Embedding::Positions positions_of(const ModelConfig& config) {
  if (config.positions == "learned") return Embedding::Positions::Learned;
  if (config.positions == "sinusoidal") return Embedding::Positions::Sinusoidal;
  if (config.positions == "none") return Embedding::Positions::None;
  if (config.positions == "rotary" && config.kind == "decoder") return Embedding::Positions::None;
  fail_input("unknown model.positions '" + config.positions +
             "'; known are sinusoidal, learned and none, and rotary in a decoder");
}

RotaryOptions rotary_of(const ModelConfig& config) {
  using Scaling = RotaryOptions::Scaling;
  static const std::map<std::string, Scaling> kScalings = {
      {"none", Scaling::None}, {"linear", Scaling::Linear},     {"llama3", Scaling::Llama3},
      {"yarn", Scaling::Yarn}, {"longrope", Scaling::Longrope}, {"dynamic", Scaling::Dynamic}};
  const auto scaling = kScalings.find(config.rotary_scaling);
  if (scaling == kScalings.end()) {
    fail_input("unknown model.rotary_scaling '" + config.rotary_scaling +
               "'; known are none, linear, llama3, yarn, longrope and dynamic");
  }
  RotaryOptions rotary{
      .base = config.rotary_base,
      .scaling = scaling->second,
      .factor = config.rotary_factor,
      .low = config.rotary_low,
      .high = rotary_high_of(config),
      .original = config.rotary_original,
      .truncate = config.rotary_truncate,
      .context = config.context,
      .short_factors = config.rotary_short,
      .long_factors = config.rotary_long,
      .attention_factor = config.rotary_attention_factor,
      .width = config.rotary_width,
      .pairs = config.rotary_pairs == "neighbours" ? RotaryPairs::Neighbours : RotaryPairs::Halves};
  const bool bands = rotary.scaling == Scaling::Llama3 || rotary.scaling == Scaling::Yarn;
  if (bands && rotary.high <= rotary.low) {
    fail_input("model.rotary_high must be above model.rotary_low");
  }
  return rotary;
}

void require_one_of(const std::string& value, const char* key,
                    std::initializer_list<const char*> known) {
  if (std::ranges::find(known, value) != known.end()) return;
  fail_input("unknown model." + std::string(key) + " '" + value + "'; known are " +
             joined(known, ", "));
}

}  // namespace

double rotary_high_of(const ModelConfig& config) {
  if (config.rotary_high > 0.0) return config.rotary_high;
  return config.rotary_scaling == "yarn" ? 32.0 : 4.0;
}

BlockStyle style_of(const ModelConfig& config) {
  BlockStyle style;
  if (config.kind != "decoder") return style;
  require_one_of(config.norm, "norm", {"layer", "rms"});
  require_one_of(config.norm_place, "norm_place", {"before", "after", "both"});
  require_one_of(config.rotary_pairs, "rotary_pairs", {"halves", "neighbours"});
  require_one_of(config.query_key_norm_over, "query_key_norm_over", {"head", "projection"});
  if (config.shared_norm && !config.parallel_branches) {
    fail_input("model.shared_norm is for blocks with model.parallel_branches = true: set it");
  }
  if (config.shared_norm && config.norm_place != "before") {
    fail_input(
        "model.shared_norm: what is shared stands before: set model.norm_place = \"before\"");
  }
  style.rms = config.norm == "rms";
  style.norm_bias = config.norm_bias;
  style.zero_centered = config.norm_zero_centered;
  if (style.zero_centered && !style.rms && !config.query_key_norm) {
    fail_input(
        "model.norm_zero_centered is for RMS norms, and there are none: set model.norm = \"rms\"");
  }
  style.epsilon = static_cast<float>(config.norm_epsilon);
  style.norm_before = config.norm_place != "after";
  style.norm_after = config.norm_place != "before";
  style.gated = config.gated;
  style.embedding_scale = static_cast<float>(config.embedding_scale);
  style.residual_scale = static_cast<float>(config.residual_scale);
  style.logit_scale = static_cast<float>(config.logit_scale);
  style.logit_softcap = static_cast<float>(config.logit_softcap);
  style.kv_heads = config.kv_heads;
  style.output_bias = config.output_bias;
  if (config.positions == "rotary") style.rotary = rotary_of(config);
  if (config.query_key_norm) style.query_key_norm = style.epsilon;
  style.norm_whole_projection = config.query_key_norm_over == "projection";
  style.scale = config.attention_scale;
  style.softcap = static_cast<float>(config.attention_softcap);
  style.window = config.window;
  if (config.packed) style.starts = "starts";
  return style;
}

TransformerWidths widths_of(const ModelConfig& config) {
  TransformerWidths widths;
  widths.width = config.width > 0 ? config.width : 128;
  widths.hidden = config.hidden > 0 ? config.hidden : 4 * widths.width;
  // A head of GPipe's translation models (GPipe, section 5) has a width of its own, so more heads
  // make attention wider than the model.
  if (config.kind == "transformer-nmt") {
    widths.head_width = config.head_width > 0 ? config.head_width : 64;
  } else if (config.kind == "decoder") {
    widths.head_width = config.head_width;
  }
  return widths;
}

DepthFactors depth_factors(const ModelConfig& config, int64_t blocks, int64_t branches_per_block) {
  const auto depth = static_cast<double>(blocks);
  DepthFactors factors;
  factors.residual = 1.0 / std::sqrt(static_cast<double>(branches_per_block) * depth);
  if (config.depth_scaled_init) factors.feed_forward = 1.0 / std::sqrt(depth);
  return factors;
}

std::unique_ptr<Layer> norm_part(const ModelConfig& config, const std::string& name) {
  const BlockStyle style = style_of(config);
  const int64_t width = widths_of(config).width;
  if (style.rms) return std::make_unique<RmsNorm>(name, width, style.epsilon, style.zero_centered);
  return std::make_unique<LayerNorm>(name, width, style.epsilon, style.norm_bias);
}

Layers branch(const ModelConfig& config, const std::string& norm, std::unique_ptr<Layer> body) {
  const BlockStyle style = style_of(config);
  Layers layers;
  const bool normed = !norm.empty();
  if (normed && style.norm_before) layers.push_back(norm_part(config, norm));
  const std::string body_name = body->name();
  layers.push_back(std::move(body));
  if (normed && style.norm_after) {
    layers.push_back(norm_part(config, style.norm_before ? norm + "_after" : norm));
  }
  if (style.residual_scale != 1.0F) {
    layers.push_back(std::make_unique<Scale>(body_name + ".scale", style.residual_scale));
  }
  if (config.dropout > 0.0) {
    layers.push_back(std::make_unique<Dropout>(body_name + ".dropout", config.dropout));
  }
  return layers;
}

namespace {

std::unique_ptr<Layer> self_attention_body(const ModelConfig& config, const std::string& name,
                                           bool causal, const std::string& key_lengths,
                                           const DepthFactors& factors) {
  const TransformerWidths widths = widths_of(config);
  const BlockStyle style = style_of(config);
  return std::make_unique<SelfAttention>(
      name + ".attention",
      SelfAttention::Options{.width = widths.width,
                             .heads = config.heads,
                             .head_width = widths.head_width,
                             .causal = causal,
                             .bias = config.attention_bias,
                             .dropout = config.dropout,
                             .out_init_factor = factors.residual,
                             .key_lengths = key_lengths,
                             .output_bias = style.output_bias,
                             .kv_heads = style.kv_heads,
                             .scale = style.scale,
                             .softcap = style.softcap,
                             .sinks = config.kind == "decoder" && config.attention_sinks,
                             .rotary = style.rotary,
                             .context = config.context,
                             .query_key_norm = style.query_key_norm,
                             .norm_whole_projection = style.norm_whole_projection,
                             .norm_zero_centered = style.zero_centered,
                             .window = style.window,
                             .starts = style.starts,
                             .adapted = adapted_parts(config.lora)});
}

// A mixture of experts that are as the feed-forward layer with these options.
std::unique_ptr<Layer> experts_body(const ModelConfig& config, const std::string& name,
                                    const FeedForward::Options& options) {
  require_one_of(config.router, "router", {"softmax", "sigmoid"});
  if (!config.gated) fail_input("model.experts: experts are gated: set model.gated = true");
  if (config.expert_gate_limit > 0.0 && config.activation != "silu") {
    fail_input(
        "model.expert_gate_limit: such gates are by sigmoid: set model.activation = \"silu\"");
  }
  return std::make_unique<Experts>(
      name, Experts::Options{
                .width = options.width,
                .hidden = config.expert_width > 0 ? config.expert_width : options.hidden,
                .experts = config.experts,
                .chosen = config.experts_per_token,
                .activation = options.activation,
                .score = config.router == "sigmoid" ? RouterScore::Sigmoid : RouterScore::Softmax,
                .normalised = config.router_normalised,
                .scale = config.router_scale,
                .groups = config.expert_groups,
                .chosen_groups = config.groups_per_token,
                .router_bias = config.router_bias,
                .correction = config.router_correction,
                .balance_rate = config.balance_rate,
                .bias = options.bias,
                .gate_limit = config.expert_gate_limit,
                .shared_hidden = config.shared_expert_width,
                .shared_gate = config.shared_expert_gate,
                .balance_loss = config.balance_loss,
                .z_loss = config.router_z_loss,
                .in_init_factor = options.in_init_factor,
                .out_init_factor = options.out_init_factor,
                .adapted = options.adapted});
}

std::unique_ptr<Layer> feed_forward_body(const ModelConfig& config, const std::string& name,
                                         const DepthFactors& factors) {
  const TransformerWidths widths = widths_of(config);
  const auto activation = activation_named(config.activation);
  if (!activation) fail_input("model.activation must not be none in a " + config.kind);
  const FeedForward::Options options{.width = widths.width,
                                     .hidden = widths.hidden,
                                     .bias = config.bias,
                                     .activation = *activation,
                                     .in_init_factor = factors.feed_forward,
                                     .out_init_factor = factors.feed_forward * factors.residual,
                                     .adapted = adapted_parts(config.lora)};
  if (config.kind == "decoder" && config.experts > 0) {
    return experts_body(config, name + ".experts", options);
  }
  if (style_of(config).gated) {
    return std::make_unique<GatedFeedForward>(name + ".feed_forward", options);
  }
  return std::make_unique<FeedForward>(name + ".feed_forward", options);
}

}  // namespace

std::unique_ptr<Layer> self_attention_part(const ModelConfig& config, const std::string& name,
                                           bool causal, const std::string& key_lengths,
                                           const DepthFactors& factors) {
  auto body = self_attention_body(config, name, causal, key_lengths, factors);
  return std::make_unique<Residual>(name + ".residual1",
                                    branch(config, name + ".norm1", std::move(body)));
}

std::unique_ptr<Layer> feed_forward_part(const ModelConfig& config, const std::string& name,
                                         int number, const DepthFactors& factors) {
  const std::string digit = std::to_string(number);
  return std::make_unique<Residual>(
      name + ".residual" + digit,
      branch(config, name + ".norm" + digit, feed_forward_body(config, name, factors)));
}

std::unique_ptr<Layer> parallel_part(const ModelConfig& config, const std::string& name,
                                     const DepthFactors& factors) {
  const bool shared = config.shared_norm;
  Layers attention = branch(config, shared ? "" : name + ".norm1",
                            self_attention_body(config, name, true, "", factors));
  Layers feed_forward =
      branch(config, shared ? "" : name + ".norm2", feed_forward_body(config, name, factors));
  Layers both;
  if (shared) both.push_back(norm_part(config, name + ".norm1"));
  both.push_back(std::make_unique<Residual>(name + ".branches", std::move(attention),
                                            std::move(feed_forward)));
  return std::make_unique<Residual>(name + ".residual1", std::move(both));
}

Embedding::Options embedding_options(const ModelConfig& config, int64_t vocabulary) {
  if (vocabulary < 2) fail_input("model.vocabulary is not known from the data: give it");
  const BlockStyle style = style_of(config);
  Embedding::Options table = {.vocabulary = vocabulary,
                              .width = widths_of(config).width,
                              .context = config.context,
                              .scale = style.embedding_scale,
                              .positions = positions_of(config),
                              .starts = style.starts};
  if (config.tied_embedding || config.kind == "transformer-nmt") {
    table.shared = "embedding.token.weight";
  }
  return table;
}

std::unique_ptr<Layer> embedding_part(const ModelConfig& config, const std::string& name,
                                      int64_t vocabulary) {
  Layers front;
  front.push_back(std::make_unique<Embedding>(name, embedding_options(config, vocabulary)));
  if (config.dropout > 0.0) {
    front.push_back(std::make_unique<Dropout>(name + ".dropout", config.dropout));
  }
  return std::make_unique<Group>(name, "embedding", std::move(front));
}

std::unique_ptr<Layer> classifier_part(const ModelConfig& config, int64_t vocabulary) {
  std::optional<SharedWeight> shared;
  if (config.tied_embedding) {
    const Embedding::Options table = embedding_options(config, vocabulary);
    shared = SharedWeight{table.shared, Embedding::table_initializer(table)};
  }
  return std::make_unique<ClassifierLoss>(
      "classifier", ClassifierLoss::Options{.width = widths_of(config).width,
                                            .classes = vocabulary,
                                            .bias = config.bias && config.kind != "decoder",
                                            .scale = style_of(config).logit_scale,
                                            .softcap = style_of(config).logit_softcap,
                                            .loss = loss_of(config),
                                            .shared = shared});
}

}  // namespace penstock
