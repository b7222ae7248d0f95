// Parameter counts of Transformers and decoders against the papers' and other frameworks' own.
#include "runtime/network/models/active.h"
#include "tests/unit/network/models/configs.h"

namespace penstock {
namespace {

using ::testing::HasSubstr;

TEST(Counts, TransformersOfGpipesTable) {
  struct Row {
    int64_t layers, with_bias, without_bias;
  };
  for (const Row& row :
       {Row{3, 282'178'816, 282'154'240}, Row{13, 785'761'536, 785'655'040},
        Row{103, 5'318'006'016, 5'317'162'240}, Row{415, 21'029'786'880, 21'026'387'200},
        Row{1663, 83'876'910'336, 83'863'287'040}}) {
    EXPECT_EQ(count(transformer_l(row.layers, true)), row.with_bias);
    EXPECT_EQ(count(transformer_l(row.layers, false)), row.without_bias);
  }
}

// Mixtral 8x7B and Qwen3-30B-A3B, as their authors count them: all, and what a token meets.
TEST(Counts, MixturesAndTheirActiveParameters) {
  ModelConfig mixtral;
  mixtral.kind = "decoder";
  mixtral.layers = 32;
  mixtral.width = 4096;
  mixtral.heads = 32;
  mixtral.kv_heads = 8;
  mixtral.hidden = 14336;
  mixtral.vocabulary = 32000;
  mixtral.positions = "rotary";
  mixtral.norm = "rms";
  mixtral.activation = "silu";
  mixtral.gated = true;
  mixtral.bias = mixtral.attention_bias = mixtral.output_bias = false;
  mixtral.experts = 8;
  EXPECT_EQ(count(mixtral), 46'702'792'704);
  EXPECT_EQ(count(mixtral) - idle_parameters(mixtral), 12'879'925'248);

  ModelConfig qwen = mixtral;
  qwen.layers = 48;
  qwen.width = 2048;
  qwen.kv_heads = 4;
  qwen.head_width = 128;
  qwen.vocabulary = 151936;
  qwen.query_key_norm = true;
  qwen.experts = 128;
  qwen.experts_per_token = 8;
  qwen.expert_width = 768;
  EXPECT_EQ(count(qwen), 30'532'122'624);
  EXPECT_EQ(count(qwen) - idle_parameters(qwen), 3'353'032'704);

  ModelConfig granite = mixtral;  // Granite 3.0 3B-A800M
  granite.width = 1536;
  granite.heads = 24;
  granite.hidden = 512;
  granite.vocabulary = 49155;
  granite.tied_embedding = true;
  granite.experts = 40;
  granite.experts_per_token = 8;
  EXPECT_EQ(count(granite), 3'298'793'472);
  EXPECT_EQ(count(granite) - idle_parameters(granite), 882'874'368);

  ModelConfig glm = mixtral;  // GLM-4.5-Air, without its layer that predicts further tokens
  glm.layers = 46;
  glm.heads = 96;
  glm.head_width = 128;
  glm.hidden = 10944;
  glm.vocabulary = 151552;
  glm.attention_bias = true;
  glm.experts = 128;
  glm.experts_per_token = 8;
  glm.expert_width = glm.shared_expert_width = 1408;
  glm.dense_layers = {0};
  glm.router_correction = true;
  EXPECT_EQ(count(glm), 106'852'245'504);
  EXPECT_EQ(count(glm) - idle_parameters(glm), 13'424'123'904);

  ModelConfig deepseek = mixtral;  // DeepSeek-MoE 16B: 16.4 and 2.8 billion
  deepseek.layers = 28;
  deepseek.width = 2048;
  deepseek.heads = deepseek.kv_heads = 16;
  deepseek.hidden = 10944;
  deepseek.vocabulary = 102400;
  deepseek.experts = 64;
  deepseek.experts_per_token = 6;
  deepseek.expert_width = 1408;
  deepseek.shared_expert_width = 2816;
  deepseek.dense_layers = {0};
  EXPECT_EQ(count(deepseek), 16'375'728'128);
  EXPECT_EQ(count(deepseek) - idle_parameters(deepseek), 2'828'650'496);

  ModelConfig oss = mixtral;  // gpt-oss-20b: 20.9 and 3.6 billion
  oss.layers = 24;
  oss.width = oss.hidden = 2880;
  oss.heads = 64;
  oss.head_width = 64;
  oss.vocabulary = 201088;
  oss.bias = oss.attention_bias = oss.output_bias = true;
  oss.attention_sinks = oss.router_bias = true;
  oss.expert_gate_limit = 7.0;
  oss.experts = 32;
  oss.experts_per_token = 4;
  EXPECT_EQ(count(oss), 20'914'757'184);
  // Their authors leave the table of the embedding out of what a token meets.
  EXPECT_EQ(count(oss) - idle_parameters(oss) - 201088 * 2880, 3'608'307'264);

  qwen.dense_layers = {0, 47};
  EXPECT_EQ(count(qwen), 30'532'122'624 - 2 * (128 * (3 * 768 + 1) - 3 * 14336) * 2048);
  EXPECT_EQ(idle_parameters(qwen), int64_t{46} * 120 * 3 * 768 * 2048);
  qwen.experts = 0;
  qwen.dense_layers = {};
  EXPECT_EQ(idle_parameters(qwen), 0);
}

TEST(Counts, MixturesRefuseWhatDoesNotFit) {
  ModelConfig config;
  config.kind = "decoder";
  config.vocabulary = 20;
  config.activation = "silu";
  config.gated = true;
  config.bias = false;
  config.experts = 4;
  EXPECT_NO_THROW((void)count(config));
  const auto refuses = [&](const std::function<void(ModelConfig&)>& change, const char* what) {
    ModelConfig changed = config;
    change(changed);
    EXPECT_THAT(input_error_of([&] { (void)count(changed); }), HasSubstr(what));
  };
  refuses([](ModelConfig& c) { c.experts_per_token = 5; }, "a token must go to 1 to 4 experts");
  refuses([](ModelConfig& c) { c.gated = false; }, "set model.gated = true");
  refuses([](ModelConfig& c) { c.expert_gate_limit = 7, c.activation = "gelu"; },
          "set model.activation = \"silu\"");
  refuses([](ModelConfig& c) { c.shared_expert_gate = true; }, "no such expert");
  refuses([](ModelConfig& c) { c.balance_rate = 0.1; }, "its router has no correction");
  refuses([](ModelConfig& c) { c.expert_groups = 3; }, "4 experts in 3 groups");
  refuses([](ModelConfig& c) { c.expert_groups = 4, c.experts_per_token = 1; },
          "a group needs two experts");
  refuses([](ModelConfig& c) { c.groups_per_token = 2; }, "to 1 to 1 groups of experts, not 2");
  refuses([](ModelConfig& c) { c.expert_groups = 2, c.experts_per_token = 3; },
          "1 of these have too few");
  refuses([](ModelConfig& c) { c.router = "top"; }, "known are softmax, sigmoid");
  refuses([](ModelConfig& c) { c.dense_layers = {4}; }, "model.dense_layers has 4");
  refuses([](ModelConfig& c) { c.experts = 0, c.dense_layers = {1}; }, "model.experts is 0");
}

TEST(Counts, OptionsOfATransformer) {
  ModelConfig config = transformer_l(3, true);
  const int64_t plain = count(config);
  config.final_norm = true;
  EXPECT_EQ(count(config), plain + 2 * 2048);
  config.final_norm = false;
  config.positions = "learned";
  EXPECT_EQ(count(config), plain + 1024 * 2048);
  config.positions = "none";
  EXPECT_EQ(count(config), plain);
  config.bias = false;
  EXPECT_EQ(count(config), plain - 3 * (8192 + 2048) - 32000);
}

// Parameters of the families' own configurations, against what their authors count.
TEST(Counts, PublishedDecoders) {
  ModelConfig gpt2;
  gpt2.kind = "decoder";
  gpt2.layers = 12;
  gpt2.width = 768;
  gpt2.heads = 12;
  gpt2.context = 1024;
  gpt2.vocabulary = 50257;
  gpt2.positions = "learned";
  gpt2.activation = "gelu-tanh";
  gpt2.tied_embedding = true;
  EXPECT_EQ(count(gpt2), 124'439'808);

  ModelConfig llama3;  // 8B
  llama3.kind = "decoder";
  llama3.layers = 32;
  llama3.width = 4096;
  llama3.heads = 32;
  llama3.kv_heads = 8;
  llama3.hidden = 14336;
  llama3.context = 8192;
  llama3.vocabulary = 128256;
  llama3.positions = "rotary";
  llama3.norm = "rms";
  llama3.gated = true;
  llama3.activation = "silu";
  llama3.bias = llama3.attention_bias = llama3.output_bias = false;
  EXPECT_EQ(count(llama3), 8'030'261'248);

  ModelConfig qwen = llama3;  // 2.5, 0.5B
  qwen.layers = 24;
  qwen.width = 896;
  qwen.heads = 14;
  qwen.kv_heads = 2;
  qwen.hidden = 4864;
  qwen.vocabulary = 151936;
  qwen.attention_bias = qwen.tied_embedding = true;
  EXPECT_EQ(count(qwen), 494'032'768);

  qwen.layers = 28;  // 3, 0.6B: heads that are wider than their share of the width
  qwen.width = 1024;
  qwen.heads = 16;
  qwen.kv_heads = 8;
  qwen.head_width = 128;
  qwen.hidden = 3072;
  qwen.attention_bias = false;
  qwen.query_key_norm = true;
  EXPECT_EQ(count(qwen), 596'049'920);
}

ModelConfig llama_like(int64_t layers, int64_t width, int64_t heads, int64_t kv_heads,
                       int64_t hidden, int64_t vocabulary) {
  ModelConfig config;
  config.kind = "decoder";
  config.layers = layers;
  config.width = width;
  config.heads = heads;
  config.kv_heads = kv_heads;
  config.hidden = hidden;
  config.vocabulary = vocabulary;
  config.positions = "rotary";
  config.norm = "rms";
  config.gated = true;
  config.bias = config.attention_bias = config.output_bias = false;
  return config;
}

// Multipliers and positions have no parameters, norms over the whole projection more than others.
TEST(Counts, PublishedDecodersOfMoreFamilies) {
  ModelConfig granite = llama_like(40, 2048, 32, 8, 8192, 49155);  // 3, 2B
  granite.tied_embedding = true;
  granite.embedding_scale = 12.0;
  granite.residual_scale = 0.22;
  EXPECT_EQ(count(granite), 2'533'531'648);
  ModelConfig olmo = llama_like(16, 2048, 16, 16, 8192, 100352);  // 2, 1B
  olmo.norm_place = "after";
  olmo.query_key_norm = true;
  olmo.query_key_norm_over = "projection";
  EXPECT_EQ(count(olmo), 1'484'916'736);
  ModelConfig smollm = llama_like(36, 2048, 16, 4, 11008, 128256);  // 3, 3B
  smollm.tied_embedding = true;
  smollm.rotary_layers = {0, 1, 2, 4};
  EXPECT_EQ(count(smollm), 3'075'098'624);
  EXPECT_EQ(count(llama_like(32, 3072, 32, 32, 8192, 32064)), 3'821'079'552);  // Phi-3 mini
}

// Their cards say 27B, 13.7B and 14.7B.
TEST(Counts, LargeDecodersOfMoreFamilies) {
  ModelConfig gemma = llama_like(62, 5376, 32, 16, 21504, 262208);  // 3, 27B, the text alone
  gemma.head_width = 128;
  gemma.tied_embedding = gemma.query_key_norm = gemma.norm_zero_centered = true;
  gemma.norm_place = "both";
  EXPECT_EQ(count(gemma), 27'009'346'304);
  ModelConfig olmo = llama_like(40, 5120, 40, 40, 13824, 100352);  // 2, 13B
  olmo.norm_place = "after";
  olmo.query_key_norm = true;
  olmo.query_key_norm_over = "projection";
  EXPECT_EQ(count(olmo), 13'716'198'400);
  EXPECT_EQ(count(llama_like(40, 5120, 40, 10, 17920, 100352)), 14'659'507'200);  // Phi-4
}

// Norms without biases, norms that are shared, and biases of some layers alone, as the cards and
// the folders' own totals have them.
TEST(Counts, PublishedDecodersWithBranchesSideBySide) {
  ModelConfig pythia = llama_like(32, 4096, 32, 32, 16384, 50432);  // 6.9B
  pythia.norm = "layer";
  pythia.gated = false;
  pythia.bias = pythia.attention_bias = pythia.output_bias = pythia.parallel_branches = true;
  EXPECT_EQ(count(pythia), 6'857'302'016);
  pythia.parallel_branches = false;
  EXPECT_EQ(count(pythia), 6'857'302'016);
  ModelConfig glm = llama_like(40, 4096, 32, 2, 13696, 151552);  // GLM-4-9B-0414
  glm.attention_bias = true;
  glm.rotary_pairs = "neighbours";
  glm.norm_place = "both";
  EXPECT_EQ(count(glm), 9'400'279'040);
  ModelConfig cohere = llama_like(40, 8192, 64, 64, 22528, 256000);  // Command-R, 35B
  cohere.norm = "layer";
  cohere.norm_bias = false;
  cohere.parallel_branches = cohere.shared_norm = cohere.tied_embedding = true;
  EXPECT_EQ(count(cohere), 34'980'831'232);
  cohere.layers = 32;  // Command R7B
  cohere.width = 4096;
  cohere.heads = 32;
  cohere.kv_heads = 8;
  cohere.hidden = 14336;
  EXPECT_EQ(count(cohere), 8'028'033'024);
}

TEST(Counts, WhatDoesNotFitADecoderIsNamed) {
  ModelConfig config = transformer_config();
  config.kind = "decoder";
  const auto refused = [](const ModelConfig& bad, const std::string& says) {
    try {
      (void)build_model(bad, 0, 0);
      ADD_FAILURE() << says;
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), HasSubstr(says));
    }
  };
  ModelConfig bad = config;
  bad.heads = 4;
  bad.kv_heads = 3;
  refused(bad, "model.kv_heads");
  bad = config;
  bad.positions = "rotary";
  bad.head_width = 5;
  refused(bad, "model.head_width");
  bad.head_width = 4;
  bad.rotary_scaling = "llama3";
  bad.rotary_low = 4.0;
  refused(bad, "model.rotary_high");
  bad = config;
  bad.positions = "rotary";
  bad.head_width = 8;
  bad.rotary_width = 3;
  refused(bad, "of a head 3 elements are to be turned: change model.rotary_width");
  bad.rotary_width = 10;
  refused(bad, "cannot turn 10 elements of a head that has 8: change model.rotary_width");
  bad = config;
  bad.norm_place = "behind";
  refused(bad, "unknown model.norm_place 'behind'; known are before, after, both");
  bad = config;
  bad.rotary_pairs = "thirds";
  refused(bad, "unknown model.rotary_pairs 'thirds'; known are halves, neighbours");
  bad = config;
  bad.shared_norm = true;
  refused(bad, "model.shared_norm is for blocks with model.parallel_branches = true");
  bad.parallel_branches = true;
  bad.norm_place = "both";
  refused(bad, "set model.norm_place = \"before\"");
  bad = config;
  bad.query_key_norm_over = "all";
  refused(bad, "unknown model.query_key_norm_over 'all'");
  bad = config;
  bad.norm = "layer";
  bad.norm_zero_centered = true;
  refused(bad, "model.norm_zero_centered is for RMS norms, and there are none");
  bad = config;
  bad.positions = "rotary";
  bad.head_width = 8;
  bad.rotary_scaling = "longrope";
  bad.rotary_short = {1.0, 1.0, 2.0, 3.0};
  bad.rotary_long = {1.0, 1.0, 2.0};
  refused(bad, "model.rotary_long has 3 factors for 4 pairs that rotary positions turn");
  bad.rotary_scaling = "dynamic";
  bad.rotary_width = 2;
  refused(bad, "dynamic rotary positions need at least 4 elements of a head");
  bad = config;
  bad.rotary_layers = {1};
  refused(bad, "model.positions is '" + bad.positions + "'");
  bad.positions = "rotary";
  bad.rotary_layers = {2};
  refused(bad, "model.rotary_layers has 2: it must name layers from 0 to 1");
  bad = config;
  bad.window_layers = {1};
  refused(bad, "model.window is 0");
  bad.window = 3;
  for (const std::vector<int64_t>& layers :
       std::vector<std::vector<int64_t>>{{0, 2}, {1, 0}, {1, 1}}) {
    bad.window_layers = layers;
    refused(bad, "model.window_layers has " + std::to_string(layers.back()));
  }
  bad = config;
  bad.kind = "transformer-lm";
  bad.positions = "rotary";
  refused(bad, "rotary in a decoder");
}

}  // namespace
}  // namespace penstock
