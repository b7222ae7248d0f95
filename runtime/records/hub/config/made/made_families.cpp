#include "runtime/records/hub/config/made/made_families.h"

#include <cmath>

namespace penstock {
namespace {

void add_unless(bool fits, const char* what, Obstacles& obstacles) {
  if (!fits) obstacles.emplace_back(what);
}

Obstacles of_every_family(const ModelConfig& model) {
  Obstacles all;
  add_unless(model.final_norm, "model.final_norm = true", all);
  add_unless(model.logit_clip == 0.0, "model.logit_clip = 0", all);
  return all;
}

void add_scales(const ModelConfig& model, const LlamaLike& family, Obstacles& all) {
  add_unless(model.embedding_scale == 1.0, "model.embedding_scale = 1", all);
  add_unless(model.residual_scale == 1.0, "model.residual_scale = 1", all);
  add_unless(model.attention_scale == usual_scale(model), "model.attention_scale = 0", all);
  add_unless(model.logit_scale == 1.0 || family.logit_scale != nullptr, "model.logit_scale = 1",
             all);
}

void add_sinks(const ModelConfig& model, const LlamaLike& family, Obstacles& all) {
  add_unless(model.attention_sinks == family.sinks,
             family.sinks ? "model.attention_sinks = true" : "model.attention_sinks = false", all);
}

void add_softcaps(const ModelConfig& model, const LlamaLike& family, Obstacles& all) {
  add_unless(model.attention_softcap == 0.0 || family.score_softcap, "model.attention_softcap = 0",
             all);
  add_unless(model.logit_softcap == 0.0 || family.logit_softcap, "model.logit_softcap = 0", all);
}

// What Gemma has of its own.
void add_gemma(const ModelConfig& model, const LlamaLike& family, Obstacles& all) {
  const double root = std::sqrt(static_cast<double>(model.width));
  add_unless(static_cast<float>(model.embedding_scale) == static_cast<float>(root),
             "model.embedding_scale = the square root of model.width", all);
  add_unless(model.norm_zero_centered, "model.norm_zero_centered = true", all);
  add_unless(model.residual_scale == 1.0, "model.residual_scale = 1", all);
  add_unless(model.logit_scale == 1.0, "model.logit_scale = 1", all);
  if (family.scalar) {
    add_unless(query_scalar(model) > 0, "model.attention_scale = 1 / sqrt(a whole number)", all);
  } else {
    add_unless(model.attention_scale == usual_scale(model), "model.attention_scale = 0", all);
    add_unless(model.activation != "gelu", "model.activation = \"gelu-tanh\"", all);
  }
}

// Layers with a window are turned as the others, unless the family has two sets of positions, where
// theirs are not scaled; and transformers reckons dynamic positions from the length of the context.
void add_rotary(const ModelConfig& model, const LlamaLike& family, Obstacles& all) {
  add_unless(
      (model.rotary_pairs == "neighbours") == family.neighbours,
      family.neighbours ? "model.rotary_pairs = \"neighbours\"" : "model.rotary_pairs = \"halves\"",
      all);
  if (!family.window_rotary) {
    add_unless(model.window_rotary_base == 0.0, "model.window_rotary_base = 0", all);
  } else if (model.window > 0 && model.rotary_scaling != "none") {
    add_unless(model.window_rotary_base > 0.0, "a model.window_rotary_base above 0", all);
  }
  if (family.longrope_alone) {
    add_unless(model.rotary_scaling == "none" || model.rotary_scaling == "longrope",
               "model.rotary_scaling = \"none\"", all);
  }
  add_unless(model.rotary_scaling != "dynamic" || model.rotary_original == model.context,
             "model.rotary_original as model.context", all);
}

void add_blocks(const ModelConfig& model, const LlamaLike& family, Obstacles& all) {
  const Blocks blocks = family.blocks;
  add_unless(!model.parallel_branches || blocks != Blocks::InTurn,
             "model.parallel_branches = false", all);
  add_unless(model.parallel_branches || blocks != Blocks::Shared, "model.parallel_branches = true",
             all);
  if (model.parallel_branches && blocks != Blocks::InTurn) {
    const bool shares = blocks != Blocks::MaybeParallel;
    add_unless(model.shared_norm == shares,
               shares ? "model.shared_norm = true" : "model.shared_norm = false", all);
  }
  add_unless(model.norm_bias == family.norm_bias,
             family.norm_bias ? "model.norm_bias = true" : "model.norm_bias = false", all);
}

void add_biases(const ModelConfig& model, Biases biases, Obstacles& all) {
  const bool queries = model.attention_bias;
  const bool output = model.output_bias;
  const bool both = biases == Biases::Llama || biases == Biases::Attention ||
                    biases == Biases::All || biases == Biases::Hidden;
  const bool may_have_queries = biases != Biases::None;
  const bool may_have_output = both || biases == Biases::Each;
  const bool may_have_hidden = biases == Biases::Each || (both && biases != Biases::Attention);
  add_unless(!model.bias || may_have_hidden, "model.bias = false", all);
  if (biases == Biases::All) {
    add_unless(queries == output && output == model.bias,
               "model.attention_bias and model.output_bias as model.bias", all);
  } else if (both) {
    add_unless(queries == output, "model.output_bias as model.attention_bias", all);
  }
  if (biases == Biases::Hidden) add_unless(model.bias, "model.bias = true", all);
  if (biases == Biases::Queries) add_unless(queries, "model.attention_bias = true", all);
  add_unless(!queries || may_have_queries, "model.attention_bias = false", all);
  add_unless(!output || may_have_output, "model.output_bias = false", all);
}

// clang-format off
constexpr LlamaLike kLlamaLike[] = {
    {.name = "llama", .architecture = "LlamaForCausalLM", .biases = Biases::Llama},
    {.name = "mistral", .architecture = "MistralForCausalLM", .windows = Windows::AllOrNone},
    {.name = "qwen2", .architecture = "Qwen2ForCausalLM", .windows = Windows::Any, .biases = Biases::Queries},
    {.name = "qwen3", .architecture = "Qwen3ForCausalLM", .windows = Windows::Any, .query_key_norm = true,
     .biases = Biases::Attention},
    {.name = "granite", .architecture = "GraniteForCausalLM", .biases = Biases::Llama, .scales = true},
    {.name = "olmo2", .architecture = "Olmo2ForCausalLM", .query_key_norm = true, .biases = Biases::Attention,
     .whole_projection = true, .norm_place = "after"},
    {.name = "smollm3", .architecture = "SmolLM3ForCausalLM", .biases = Biases::Llama, .some_rotary = true},
    {.name = "phi3", .architecture = "Phi3ForCausalLM", .windows = Windows::AllOrNone, .partial_rotary = true,
     .longrope_alone = true},
    {.name = "gemma", .architecture = "GemmaForCausalLM", .biases = Biases::Attention, .gemma = true},
    {.name = "gemma2", .architecture = "Gemma2ForCausalLM", .activation = "hidden_activation",
     .windows = Windows::Any, .biases = Biases::Attention, .norm_place = "both", .gemma = true, .scalar = true,
     .score_softcap = true, .logit_softcap = true, .layer_types = true},
    {.name = "gemma3_text", .architecture = "Gemma3ForCausalLM", .activation = "hidden_activation",
     .windows = Windows::Any, .query_key_norm = true, .biases = Biases::Attention, .norm_place = "both",
     .gemma = true, .scalar = true, .logit_softcap = true, .window_rotary = true, .layer_types = true},
    {.name = "olmo3", .architecture = "Olmo3ForCausalLM", .windows = Windows::Any, .query_key_norm = true,
     .biases = Biases::Attention, .whole_projection = true, .norm_place = "after", .window_rotary = true,
     .layer_types = true},
    {.name = "ministral", .architecture = "MinistralForCausalLM", .windows = Windows::Any, .layer_types = true},
    {.name = "seed_oss", .architecture = "SeedOssForCausalLM", .biases = Biases::Each},
    {.name = "exaone4", .architecture = "Exaone4ForCausalLM", .windows = Windows::Any, .query_key_norm = true,
     .norm_place = "after", .rotary_in_windows = true, .layer_types = true},
    {.name = "starcoder2", .architecture = "Starcoder2ForCausalLM", .windows = Windows::AllOrNone,
     .biases = Biases::All, .norm = "layer", .epsilon = "norm_epsilon", .gated = false},
    {.name = "stablelm", .architecture = "StableLmForCausalLM", .biases = Biases::MaybeQueries, .norm = "layer",
     .epsilon = "layer_norm_eps", .blocks = Blocks::MaybeShared, .divided_heads = true, .partial_rotary = true},
    {.name = "glm", .architecture = "GlmForCausalLM", .biases = Biases::MaybeQueries, .queries_bias = "attention_bias",
     .neighbours = true, .partial_rotary = true},
    {.name = "glm4", .architecture = "Glm4ForCausalLM", .biases = Biases::MaybeQueries,
     .queries_bias = "attention_bias", .norm_place = "both", .neighbours = true, .partial_rotary = true},
    {.name = "gpt_neox", .architecture = "GPTNeoXForCausalLM", .biases = Biases::Hidden, .norm = "layer",
     .epsilon = "layer_norm_eps", .gated = false, .blocks = Blocks::MaybeParallel, .grouped_queries = false,
     .divided_heads = true, .partial_rotary = true},
    {.name = "cohere", .architecture = "CohereForCausalLM", .biases = Biases::Attention, .norm = "layer",
     .epsilon = "layer_norm_eps", .norm_bias = false, .blocks = Blocks::Shared, .logit_scale = "logit_scale",
     .neighbours = true, .divided_heads = true},
    {.name = "cohere2", .architecture = "Cohere2ForCausalLM", .windows = Windows::Any, .biases = Biases::Attention,
     .norm = "layer", .epsilon = "layer_norm_eps", .norm_bias = false, .blocks = Blocks::Shared,
     .logit_scale = "logit_scale", .neighbours = true, .divided_heads = true, .rotary_in_windows = true,
     .layer_types = true},
    {.name = "mixtral", .architecture = "MixtralForCausalLM", .windows = Windows::AllOrNone,
     .experts = ExpertForm::Mixtral},
    {.name = "olmoe", .architecture = "OlmoeForCausalLM", .query_key_norm = true, .biases = Biases::Attention,
     .whole_projection = true, .divided_heads = true, .experts = ExpertForm::Olmoe},
    {.name = "qwen2_moe", .architecture = "Qwen2MoeForCausalLM", .biases = Biases::MaybeQueries,
     .queries_bias = "qkv_bias", .experts = ExpertForm::QwenShared},
    {.name = "qwen3_moe", .architecture = "Qwen3MoeForCausalLM", .query_key_norm = true, .biases = Biases::Attention,
     .experts = ExpertForm::Qwen},
    {.name = "granitemoe", .architecture = "GraniteMoeForCausalLM", .biases = Biases::Attention, .scales = true,
     .experts = ExpertForm::Mixtral},
    {.name = "granitemoeshared", .architecture = "GraniteMoeSharedForCausalLM", .biases = Biases::Attention,
     .scales = true, .experts = ExpertForm::MixtralShared},
    {.name = "dots1", .architecture = "Dots1ForCausalLM", .windows = Windows::Any, .query_key_norm = true,
     .biases = Biases::Attention, .layer_types = true, .experts = ExpertForm::Deepseek},
    {.name = "glm4_moe", .architecture = "Glm4MoeForCausalLM", .maybe_query_key_norm = true,
     .biases = Biases::MaybeQueries, .queries_bias = "attention_bias", .partial_rotary = true,
     .experts = ExpertForm::Deepseek},
    {.name = "gpt_oss", .architecture = "GptOssForCausalLM", .windows = Windows::Any, .biases = Biases::Hidden,
     .layer_types = true, .sinks = true, .experts = ExpertForm::GptOss},
};
// clang-format on

}  // namespace

double usual_scale(const ModelConfig& model) {
  return 1.0 / std::sqrt(static_cast<double>(model.head_width));
}

int64_t query_scalar(const ModelConfig& model) {
  const double scale = model.attention_scale;
  const auto scalar = static_cast<int64_t>(std::lround(1.0 / (scale * scale)));
  const bool exact =
      scalar > 0 &&
      static_cast<float>(1.0 / std::sqrt(static_cast<double>(scalar))) == static_cast<float>(scale);
  return exact ? scalar : 0;
}

std::span<const LlamaLike> llama_like_families() {
  return kLlamaLike;
}

Obstacles obstacles_to_gpt2(const ModelConfig& model) {
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
  add_scales(model, {}, all);
  add_sinks(model, {}, all);
  add_softcaps(model, {}, all);
  add_blocks(model, {}, all);
  return all;
}

Obstacles obstacles_to(const LlamaLike& family, const ModelConfig& model) {
  Obstacles all = of_every_family(model);
  add_unless(model.positions == "rotary", "model.positions = \"rotary\"", all);
  if (model.norm != family.norm) {
    all.push_back("model.norm = \"" + std::string(family.norm) + "\"");
  }
  add_unless(model.gated == family.gated,
             family.gated ? "model.gated = true" : "model.gated = false", all);
  add_blocks(model, family, all);
  add_unless(family.grouped_queries || model.kv_heads == model.heads,
             "as many model.kv_heads as heads", all);
  add_unless(!family.divided_heads || model.heads * model.head_width == model.width,
             "heads as wide as model.width", all);
  add_unless(model.window == 0 || family.windows != Windows::None, "model.window = 0", all);
  add_unless(model.window_layers.empty() || family.windows == Windows::Any,
             "model.window_layers = []", all);
  add_unless(family.maybe_query_key_norm || model.query_key_norm == family.query_key_norm,
             family.query_key_norm ? "model.query_key_norm = true" : "model.query_key_norm = false",
             all);
  add_unless(model.query_key_norm_over == (family.whole_projection ? "projection" : "head"),
             family.whole_projection ? "model.query_key_norm_over = \"projection\""
                                     : "model.query_key_norm_over = \"head\"",
             all);
  if (model.norm_place != family.norm_place) {
    all.push_back("model.norm_place = \"" + std::string(family.norm_place) + "\"");
  }
  if (family.gemma) {
    add_gemma(model, family, all);
  } else {
    add_unless(!model.norm_zero_centered, "model.norm_zero_centered = false", all);
    if (!family.scales) add_scales(model, family, all);
  }
  add_sinks(model, family, all);
  add_softcaps(model, family, all);
  if (family.rotary_in_windows) {
    add_unless(model.rotary_layers == model.window_layers,
               "model.rotary_layers as model.window_layers", all);
  } else {
    add_unless(model.rotary_layers.empty() || family.some_rotary, "model.rotary_layers = []", all);
  }
  add_unless(model.rotary_width == 0 || family.partial_rotary, "model.rotary_width = 0", all);
  add_rotary(model, family, all);
  add_expert_obstacles(model, family.experts, all);
  add_biases(model, family.biases, all);
  return all;
}

}  // namespace penstock
