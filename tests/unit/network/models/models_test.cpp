// What the networks that a run file names are: names of parameters, shapes from layer to layer, and
// what is refused.
#include <set>

#include "tests/unit/network/models/configs.h"

namespace penstock {
namespace {

using ::testing::HasSubstr;

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

// A user with three run files could not tell which one was refused.
TEST(Networks, ThatAreRefusedNameWhereTheyWereSaid) {
  ModelConfig config = resnet_config("cifar", 9);
  const auto refusal = [&] {
    return input_error_of([&] { (void)built_in_models().build(config, 0, 0); });
  };
  EXPECT_THAT(refusal(), ::testing::StartsWith("model.depth of a CIFAR resnet"));
  config.said_in = "run.toml, --model.depth";
  EXPECT_THAT(refusal(), ::testing::StartsWith("run.toml, --model.depth: model.depth of a CIFAR"));
  config.kind = "sequential";
  config.sequence.resize(1);
  config.sequence[0].kind = "nothing";
  config.sequence[0].where = "run.toml:31";
  EXPECT_THAT(refusal(), ::testing::StartsWith("run.toml:31: ")) << "once is enough";
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
    return input_error_of([&] { (void)build_model(config, 0, 0); });
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
