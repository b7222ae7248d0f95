// Parameter counts against the papers' and other frameworks' own, without allocating a weight.
#include <set>

#include "runtime/network/models/active.h"
#include "tests/unit/network/models/configs.h"

namespace penstock {
namespace {

using ::testing::HasSubstr;

ParameterSet declared(const ModelConfig& config) {
  const Sequential model = build_model(config, 0, 0);
  ParameterSet set;
  for (const auto& layer : model.layers) layer->declare(set);
  return set;
}

int64_t count(const ModelConfig& config) {
  return declared(config).declared().elements();
}

// GPipe, Table 1: V 32000, d 2048, ff 8192, 32 heads, T 1024.
ModelConfig transformer_l(int64_t layers, bool attention_bias) {
  ModelConfig config;
  config.kind = "transformer-lm";
  config.layers = layers;
  config.width = 2048;
  config.hidden = 8192;
  config.heads = 32;
  config.context = 1024;
  config.vocabulary = 32000;
  config.attention_bias = attention_bias;
  config.final_norm = false;
  return config;
}

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
    EXPECT_THAT(message_of([&] { (void)count(changed); }), HasSubstr(what));
  };
  refuses([](ModelConfig& c) { c.experts_per_token = 5; }, "a token must go to 1 to 4 experts");
  refuses([](ModelConfig& c) { c.gated = false; }, "set model.gated = true");
  refuses([](ModelConfig& c) { c.bias = true; }, "set model.bias = false");
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

ModelConfig amoebanet(const std::string& kind, const std::string& stem, int64_t layers,
                      int64_t filters) {
  ModelConfig config = amoebanet_config(kind, stem);
  config.layers = layers;
  config.filters = filters;
  config.image = {3, 224, 224};
  config.auxiliary_weight = 0.0;
  return config;
}

// GPipe, Table 1 and 2, to the last digit: 1000 classes with the wide stem, 1001 with the narrow
// one.
TEST(Counts, AmoebaNetsOfGpipesTables) {
  struct Row {
    int64_t layers, filters, wide, narrow, with_auxiliary_head;
  };
  for (const Row& row : {Row{18, 208, 81'505'540, 81'140'766, 81'785'166},
                         Row{18, 416, 319'024'120, 317'548'353, 318'277'617},
                         Row{18, 544, 542'734'840, 540'204'945, 540'986'433},
                         Row{36, 544, 1'055'832'376, 1'053'302'481, 1'054'083'969},
                         Row{72, 512, 1'844'858'344, 1'842'618'441, 1'843'386'873},
                         Row{18, 256, 122'470'120, 121'915'113, 122'579'097},
                         Row{18, 128, 31'694'440, 31'557'433, 32'169'193}}) {
    ModelConfig config = amoebanet("amoebanet-d", "wide", row.layers, row.filters);
    config.classes = 1000;
    EXPECT_EQ(count(config), row.wide) << row.layers << ", " << row.filters;
    config.stem = "auto";
    EXPECT_EQ(count(config), row.wide);
    config.stem = "narrow";
    config.classes = 1001;
    EXPECT_EQ(count(config), row.narrow) << row.layers << ", " << row.filters;
    config.auxiliary_weight = 0.4;
    EXPECT_EQ(count(config), row.with_auxiliary_head) << row.layers << ", " << row.filters;
  }
}

// The model of GPipe's ImageNet result: 557 million parameters, at 480 x 480.
TEST(Counts, AmoebaNetBOfGpipesImageNetResult) {
  ModelConfig config = amoebanet("amoebanet-b", "auto", 18, 512);
  config.image = {3, 480, 480};
  config.classes = 1001;
  EXPECT_EQ(count(config), 557'286'057);
}

// normal(f) = (c + q) f + 5.75 f^2 + 17 f; reduction(f) = (c + q) f + 3.4375 f^2 + 12.5 f.
TEST(Counts, AmoebaNetForSmallImagesByTheFormula) {
  constexpr int64_t kFilters = 32;
  int64_t expected = 27 * 3 * kFilters + 2 * 3 * kFilters;
  int64_t c = 3 * kFilters;
  int64_t q = c;
  const auto cell = [&](double f, double square, double linear, int64_t out) {
    expected += static_cast<int64_t>(static_cast<double>(c + q) * f + square * f * f + linear * f);
    q = c;
    c = out * static_cast<int64_t>(f);
  };
  for (int64_t f : {kFilters, 2 * kFilters, 4 * kFilters}) {
    const auto filters = static_cast<double>(f);
    if (f > kFilters) cell(filters, 3.4375, 12.5, 3);
    for (int i = 0; i < 2; ++i) cell(filters, 5.75, 17, 4);
  }
  expected += 16 * kFilters * 10 + 10;
  ModelConfig config = amoebanet("amoebanet-d", "small", 6, kFilters);
  config.image = {3, 32, 32};
  config.classes = 10;
  EXPECT_EQ(count(config), expected);
}

TEST(Counts, ResnetsAsInTorchvision) {
  const std::map<int64_t, int64_t> known = {
      {18, 11'689'512}, {34, 21'797'672}, {50, 25'557'032}, {101, 44'549'160}, {152, 60'192'808}};
  for (const auto& [depth, parameters] : known) {
    ModelConfig config = resnet_config("imagenet", depth);
    config.width = 0;
    config.image = {3, 224, 224};
    config.classes = 1000;
    EXPECT_EQ(count(config), parameters) << depth;
  }
}

// 6n + 2 layers of 16, 32 and 64 channels (He et al. 2016, 4.2), two 1x1 shortcuts.
TEST(Counts, ResnetsForCifarByTheFormula) {
  const auto conv = [](int64_t in, int64_t out, int64_t kernel) {
    return in * out * kernel * kernel + 2 * out;  // and its batch norm
  };
  for (int64_t n : {1, 3, 5, 18}) {
    int64_t expected = conv(3, 16, 3) + 64 * 10 + 10;
    for (int64_t width : {16, 32, 64}) {
      const int64_t in = width == 16 ? 16 : width / 2;
      expected += conv(in, width, 3) + (2 * n - 1) * conv(width, width, 3);
      if (in != width) expected += conv(in, width, 1);
    }
    ModelConfig config;
    config.kind = "resnet";
    config.depth = 6 * n + 2;
    EXPECT_EQ(count(config), expected) << n;
    if (n == 3) {
      EXPECT_EQ(expected, 272'474);
    }
  }
}

// Ronneberger et al. 2015: 64 to 1024 channels, here with batch norms in place of biases.
TEST(Counts, UNetByTheFormula) {
  int64_t expected = 64 * 10 + 10;
  const auto both = [](int64_t in, int64_t out) { return 9 * (in + out) * out + 4 * out; };
  int64_t in = 3;
  for (int64_t width : {64, 128, 256, 512, 1024}) {
    expected += both(in, width);
    if (width > 64) expected += 4 * width * width / 2 + both(width, width / 2);
    in = width;
  }
  ModelConfig config = unet_config();
  config.layers = 4;
  config.filters = 64;
  config.image = {3, 64, 64};
  config.classes = 10;
  EXPECT_EQ(count(config), expected);
}

// torchgpipe's benchmarks/unet-memory has 362.2 M, 2.21 B, 4.99 B, 7.80 B and 15.82 B. What it
// counts are its convolutions alone, `theirs` for one class: its norms have no parameters. Ours
// have two numbers a channel of each convolution, and a second class.
TEST(Counts, UNetsOfTorchgpipesTable) {
  struct Row {
    int64_t b, c, theirs, channels;
  };
  for (const Row& row : {Row{6, 72, 362'157'516, 32'760}, Row{11, 128, 2'213'834'176, 108'480},
                         Row{24, 128, 4'993'859'008, 239'104}, Row{24, 160, 7'802'903'600, 298'880},
                         Row{48, 160, 15'822'206'000, 600'320}}) {
    ModelConfig config = unet_config();
    config.form = "simplified";
    config.layers = 5;
    config.convolutions = row.b;
    config.filters = row.c;
    config.image = {3, 192, 192};
    config.classes = 2;
    config.per_pixel = true;
    EXPECT_EQ(count(config), row.theirs + row.c / 2 + 2 * row.channels) << row.b << ", " << row.c;
  }
}

TEST(Counts, Mlp) {
  EXPECT_EQ(count(mlp_config()), 12 * 16 + 16 + 16 * 8 + 8 + 8 * 5 + 5);
  ModelConfig config = mlp_config();
  config.input.clear();  // an image then; layers x hidden
  config.hidden_layers.clear();
  config.hidden = 6;
  config.layers = 3;
  config.bias = false;
  EXPECT_EQ(count(config), 3 * 32 * 32 * 6 + 2 * 6 * 6 + 6 * 5);
}

TEST(Names, AreThoseThatCheckpointsUse) {
  std::set<std::string> names;
  const ParameterSet set = declared(transformer_l(8, true));
  for (const Parameter& p : set.declared().parameters) names.insert(p.name);
  for (const char* name :
       {"embedding.token.weight", "blocks.7.attention.query.weight", "blocks.0.norm1.bias",
        "blocks.3.feed_forward.in.weight", "classifier.weight", "classifier.bias"}) {
    EXPECT_TRUE(names.contains(name)) << name;
  }
  EXPECT_EQ(names.size(), 1 + 8 * 16 + 2U);
}

// What crosses from layer to layer, and so from stage to stage.
TEST(Shapes, FollowFromLayerToLayer) {
  const auto through = [](const ModelConfig& config, const Shape& input) {
    std::vector<std::string> texts;
    Shapes shapes = {input};
    for (const auto& layer : build_model(config, 0, 0).layers) {
      shapes = layer->infer(shapes);
      if (!shapes.empty() && (texts.empty() || texts.back() != shapes[0].text())) {
        texts.push_back(shapes[0].text());
      }
    }
    EXPECT_TRUE(shapes.empty()) << "a network ends in its loss";
    return texts;
  };
  EXPECT_THAT(through(transformer_l(3, true), {1, 1024}),
              ::testing::ElementsAre("[1, 1024, 2048]"));
  ModelConfig config = resnet_config("imagenet", 50);
  config.width = 0;
  EXPECT_THAT(through(config, {2, 224, 224, 3}),
              ::testing::ElementsAre("[2, 56, 56, 64]", "[2, 56, 56, 256]", "[2, 28, 28, 512]",
                                     "[2, 14, 14, 1024]", "[2, 7, 7, 2048]", "[2, 2048]"));
  config.form = "cifar";
  config.depth = 8;
  EXPECT_THAT(
      through(config, {2, 32, 32, 3}),
      ::testing::ElementsAre("[2, 32, 32, 16]", "[2, 16, 16, 32]", "[2, 8, 8, 64]", "[2, 64]"));
}

// Units in GPipe's order, 6 more than L; the auxiliary head follows the last cell of the second
// third.
TEST(AmoebaNets, AreSequencesOfUnits) {
  ModelConfig config = amoebanet("amoebanet-d", "wide", 6, 16);
  config.auxiliary_weight = 0.4;
  std::vector<std::string> names;
  for (const auto& layer : build_model(config, 0, 0).layers) names.push_back(layer->name());
  EXPECT_THAT(names,
              ::testing::ElementsAre("stem", "stem.reductions.0", "stem.reductions.1", "cells.0",
                                     "cells.1", "reductions.0", "cells.2", "cells.3", "auxiliary",
                                     "reductions.1", "cells.4", "cells.5", "pool", "classifier"));
}

// What crosses each boundary: the output of a cell and that of the one before it.
TEST(AmoebaNets, PassTwoTensorsBetweenCells) {
  const auto crossing = [](const ModelConfig& config, const Shape& input) {
    std::vector<std::string> texts;
    Shapes shapes = {input};
    for (const auto& layer : build_model(config, 0, 0).layers) {
      shapes = layer->infer(shapes);
      std::string text;
      for (const Shape& shape : shapes) text += shape.text();
      texts.push_back(text);
    }
    return texts;
  };
  ModelConfig config = amoebanet("amoebanet-d", "wide", 3, 16);
  EXPECT_THAT(
      crossing(config, {2, 224, 224, 3}),
      ::testing::ElementsAre("[2, 112, 112, 4]", "[2, 56, 56, 24][2, 112, 112, 4]",
                             "[2, 28, 28, 48][2, 56, 56, 24]", "[2, 28, 28, 64][2, 28, 28, 48]",
                             "[2, 14, 14, 96][2, 28, 28, 64]", "[2, 14, 14, 128][2, 14, 14, 96]",
                             "[2, 7, 7, 192][2, 14, 14, 128]", "[2, 7, 7, 256]", "[2, 256]", ""));
  config.stem = "narrow";  // without padding 111, then 56
  EXPECT_THAT(crossing(config, {2, 224, 224, 3})[1], "[2, 56, 56, 12][2, 111, 111, 32]");
  config.stem = "small";
  EXPECT_THAT(crossing(config, {2, 32, 32, 3})[1], "[2, 32, 32, 64][2, 32, 32, 48]");
}

TEST(Models, RefuseWhatMakesNoNetwork) {
  const auto refused = [](ModelConfig config, const std::function<void(ModelConfig&)>& change) {
    change(config);
    return message_of([&] { (void)build_model(config, 0, 0); });
  };
  using Config = ModelConfig;
  const Config text = transformer_config();
  EXPECT_THAT(refused(text, [](Config& c) { c.kind = "rnn"; }), HasSubstr("'rnn'"));
  EXPECT_THAT(refused(text, [](Config& c) { c.vocabulary = 0; }), HasSubstr("model.vocabulary"));
  EXPECT_THAT(refused(text, [](Config& c) { c.heads = 3; }), HasSubstr("model.heads"));
  EXPECT_THAT(refused(text, [](Config& c) { c.activation = "swish"; }), HasSubstr("'swish'"));
  EXPECT_THAT(refused(text, [](Config& c) { c.activation = "none"; }),
              HasSubstr("model.activation"));
  EXPECT_THAT(refused(text, [](Config& c) { c.positions = "rotary"; }), HasSubstr("'rotary'"));
  const Config images = resnet_config("cifar", 8);
  EXPECT_THAT(refused(images, [](Config& c) { c.depth = 18; }), HasSubstr("not 18"));
  EXPECT_THAT(refused(images, [](Config& c) { c.depth = 2; }), HasSubstr("not 2"));
  EXPECT_THAT(refused(images, [](Config& c) { c.form = "imagenet"; }), HasSubstr("not 8"));
  EXPECT_THAT(refused(images, [](Config& c) { c.form = "tiny"; }), HasSubstr("'tiny'"));
  EXPECT_THAT(refused(images, [](Config& c) { c.classes = 0; }), HasSubstr("model.classes"));
  const Config cells = amoebanet_config("amoebanet-d", "wide");
  for (int64_t layers : {0, 1, 4}) {
    EXPECT_THAT(refused(cells, [&](Config& c) { c.layers = layers; }), HasSubstr("model.layers"));
  }
  for (int64_t filters : {0, 4, 20}) {
    EXPECT_THAT(refused(cells, [&](Config& c) { c.filters = filters; }),
                HasSubstr("model.filters"));
  }
  EXPECT_THAT(refused(cells,
                      [](Config& c) {
                        c.stem = "narrow";
                        c.filters = 8;
                      }),
              HasSubstr("at least 16"));
  EXPECT_THAT(refused(cells, [](Config& c) { c.stem = "short"; }), HasSubstr("'short'"));
  EXPECT_THAT(refused(cells, [](Config& c) { c.classes = 1; }), HasSubstr("model.classes"));
  EXPECT_THAT(refused(cells, [](Config& c) { c.drop_path = 1.0; }), HasSubstr("drop_path"));
  EXPECT_EQ(refused(cells, [](Config&) {}), "nothing was thrown");
  EXPECT_THAT(refused(unet_config(), [](Config& c) { c.layers = 3; }), HasSubstr("multiple of 8"));
  EXPECT_THAT(refused(unet_config(), [](Config& c) { c.layers = 60; }), HasSubstr("not 60"));
  EXPECT_THAT(refused(unet_config(),
                      [](Config& c) {
                        c.form = "simplified";
                        c.filters = 5;
                      }),
              HasSubstr("must be even, not 5"));
  EXPECT_THAT(refused(images, [](Config& c) { c.per_pixel = true; }),
              HasSubstr("model.per_pixel is for the kinds unet and sequential"));
  EXPECT_EQ(refused(unet_config(), [](Config&) {}), "nothing was thrown");
  for (const std::vector<int64_t>& image :
       std::vector<std::vector<int64_t>>{{}, {3, 32}, {3, 32, 32, 1}, {0, 32, 32}, {3, -1, 32}}) {
    EXPECT_THAT(refused(images, [&](Config& c) { c.image = image; }), HasSubstr("model.image"));
  }
  for (const std::vector<int64_t>& input :
       std::vector<std::vector<int64_t>>{{0}, {-2}, {2, 2, 2, 2, 2, 2}}) {
    EXPECT_THAT(refused(mlp_config(), [&](Config& c) { c.input = input; }),
                HasSubstr("model.input"));
  }
  EXPECT_THAT(refused(mlp_config(), [](Config& c) { c.classes = 1; }), HasSubstr("model.classes"));
  EXPECT_EQ(refused(text, [](Config&) {}), "nothing was thrown");
  EXPECT_EQ(refused(images, [](Config&) {}), "nothing was thrown");
  EXPECT_EQ(refused(mlp_config(), [](Config&) {}), "nothing was thrown");
}

TEST(Models, SayWhatEntersTheFirstLayer) {
  const auto says = [](const ModelConfig& config) {
    const ModelInput input = input_of(config);
    EXPECT_EQ(build_model(config, 0, 0).inputs, std::vector<std::string>{input.field});
    return input.field + " " + input.shape.text() + " " + name_of(input.dtype) +
           (input.label_per_position ? " labels per position" : "") +
           (input.label_per_pixel ? " labels " + label_shape(input).text() : "");
  };
  EXPECT_EQ(says(transformer_config()), "tokens [8] int32 labels per position");
  EXPECT_EQ(says(all_token_kinds()), "tokens [8] int32 labels per position");
  ModelConfig translation = transformer_config();
  translation.kind = "transformer-nmt";
  EXPECT_EQ(says(translation), "source_tokens [8] int32 labels per position");
  EXPECT_EQ(says(resnet_config("cifar", 8)), "images [16, 16, 3] fp32");
  EXPECT_EQ(says(unet_config()), "images [8, 12, 3] fp32");
  EXPECT_EQ(says(pixel_unet_config()), "images [8, 12, 3] fp32 labels [8, 12]");
  EXPECT_EQ(says(all_image_kinds()), "images [8, 8, 2] fp32");
  EXPECT_EQ(says(mlp_config()), "inputs [12] fp32");
}

// The data's vocabulary and classes stand in where the run file is silent, and only there.
TEST(Models, AskTheDataForWhatTheRunFileLeavesOut) {
  ModelConfig config = transformer_config();
  const int64_t own = count(config);
  const auto with = [](const ModelConfig& c, int64_t vocabulary, int64_t classes) {
    ParameterSet set;
    const Sequential model = build_model(c, vocabulary, classes);
    for (const auto& layer : model.layers) layer->declare(set);
    return set.declared().elements();
  };
  EXPECT_EQ(with(config, 500, 500), own);
  config.vocabulary = 0;
  EXPECT_EQ(with(config, 12, 0), own + 16 + 16 + 1);
  ModelConfig images = mlp_config();
  images.classes = 0;
  EXPECT_EQ(with(images, 0, 6), count(mlp_config()) + 8 + 1);
}

// A table of rotary positions takes context x head width numbers, of which a stage needs one.
TEST(Constants, OfRotaryPositionsAreSharedByAllBlocks) {
  ModelConfig config;
  config.kind = "decoder";
  config.width = 32;
  config.vocabulary = 9;
  config.positions = "rotary";
  const ParameterSet set = declared(config);
  EXPECT_EQ(set.declared().constants.size(), 1U);
}

}  // namespace
}  // namespace penstock
