// Networks listed in a run file: every kind builds, and what does not fit is refused in one line
// that starts with where the entry stands.
#include "tests/unit/network/models/configs.h"

namespace penstock {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr const char* kWhere = "run.toml:31";

std::vector<std::string> kinds_and_names(const Layers& layers) {
  std::vector<std::string> all;
  for (const auto& layer : layers) all.push_back(layer->kind() + " " + layer->name());
  return all;
}

TEST(Sequentials, EveryKindBuilds) {
  EXPECT_THAT(kinds_and_names(build_model(all_image_kinds(), 0, 0).layers),
              ElementsAre("conv2d layers.0", "max-pool layers.1", "residual layers.2",
                          "group layers.3", "residual layers.4", "dropout layers.5",
                          "flatten layers.6", "linear layers.7", "classifier layers.classifier"));
  EXPECT_THAT(kinds_and_names(build_model(all_token_kinds(), 0, 0).layers),
              ElementsAre("embedding layers.0", "residual layers.1", "residual layers.2",
                          "residual layers.3", "classifier layers.4"));
  EXPECT_THAT(kinds_and_names(build_model(image_sequence({entry("global-pool")}), 0, 0).layers),
              ElementsAre("global-pool layers.0", "classifier layers.classifier"));
}

TEST(Sequentials, TellAClassForEachPixel) {
  EXPECT_THAT(kinds_and_names(build_model(all_enlarging_kinds(), 0, 0).layers),
              ElementsAre("stash layers.0", "conv2d layers.1", "activation layers.2",
                          "conv2d layers.3", "activation layers.4", "conv2d-transpose layers.5",
                          "upsample layers.6", "pop layers.7", "conv2d layers.8",
                          "activation layers.9", "classifier layers.classifier"));
}

TEST(Sequentials, NamesAndShapesReachTheParameters) {
  ModelConfig config = all_image_kinds();
  config.sequence[0].name = "stem";
  ParameterSet set;
  for (const auto& layer : build_model(config, 0, 0).layers) layer->declare(set);
  std::vector<std::string> all;
  for (const Parameter& p : set.declared().parameters) all.push_back(p.name + " " + p.shape.text());
  // max-pool 3 with stride 1 keeps 8 x 8; the residual halves it to 4 x 4 x 6.
  EXPECT_THAT(all,
              ElementsAre("layers.stem.weight [4, 1, 3, 5]", "layers.stem.bias [4]",
                          "layers.2.branch.0.weight [6, 4, 3, 3]", "layers.2.branch.0.bias [6]",
                          "layers.2.branch.1.weight [6]", "layers.2.branch.1.bias [6]",
                          "layers.2.shortcut.1.weight [6, 4, 1, 1]", "layers.2.shortcut.1.bias [6]",
                          "layers.4.branch.0.weight [6, 6, 3, 3]", "layers.7.weight [8, 96]",
                          "layers.7.bias [8]", "layers.classifier.weight [5, 8]",
                          "layers.classifier.bias [5]"));
}

TEST(Sequentials, MixturesHaveTheDecodersKeys) {
  const int64_t two = 2;
  const ModelConfig config = token_sequence({entry("embedding", {{"width", int64_t{8}}}),
                                             entry("experts", {{"experts", int64_t{6}},
                                                               {"experts_per_token", two},
                                                               {"expert_width", int64_t{3}},
                                                               {"activation", std::string("gelu")},
                                                               {"router", std::string("sigmoid")},
                                                               {"router_normalised", false},
                                                               {"router_scale", 1.5},
                                                               {"router_bias", true},
                                                               {"router_correction", true},
                                                               {"balance_rate", 0.01},
                                                               {"balance_loss", 0.1},
                                                               {"router_z_loss", 0.1},
                                                               {"expert_groups", int64_t{3}},
                                                               {"groups_per_token", two},
                                                               {"shared_expert_width", int64_t{4}},
                                                               {"shared_expert_gate", true}})});
  ParameterSet set;
  build_model(config, 0, 0).layers[1]->declare(set);
  std::vector<std::string> all;
  for (const Parameter& p : set.declared().parameters) all.push_back(p.name + " " + p.shape.text());
  EXPECT_THAT(all,
              ElementsAre("layers.1.router.weight [6, 8]", "layers.1.router.bias [6]",
                          "layers.1.gate.weight [6, 3, 8]", "layers.1.in.weight [6, 3, 8]",
                          "layers.1.out.weight [6, 8, 3]", "layers.1.shared.gate.weight [4, 8]",
                          "layers.1.shared.in.weight [4, 8]", "layers.1.shared.out.weight [8, 4]",
                          "layers.1.shared_gate.weight [1, 8]"));
  EXPECT_EQ(set.declared().buffers[0].name, "layers.1.router.correction");
  EXPECT_EQ(set.declared().step_sums[0].name, "layers.1.rows");
}

// The last entry of the list is the one that is wrong, and stands at kWhere.
std::string refusal(ModelConfig config) {
  config.sequence.back().where = kWhere;
  return input_error_of([&] { (void)build_model(config, 0, 0); });
}
std::string refusal(const LayerConfig& last) {
  return refusal(image_sequence({entry("relu"), last}));
}

TEST(Sequentials, RefuseKindsAndOptionsByPlace) {
  EXPECT_THAT(refusal(entry("lstm")),
              AllOf(StartsWith("run.toml:31: model layer 'lstm'"), HasSubstr("self-attention")));
  EXPECT_THAT(refusal(entry("conv2d", {{"channels", int64_t{4}}, {"dilation", int64_t{2}}})),
              AllOf(StartsWith(kWhere), HasSubstr("'dilation'"), HasSubstr("groups")));
  EXPECT_THAT(refusal(entry("relu", {{"slope", 0.1}})), HasSubstr("it has none"));
  EXPECT_THAT(refusal(entry("linear")), AllOf(StartsWith(kWhere), HasSubstr("'width'")));
}

TEST(Sequentials, RefuseWrongTypesAndRanges) {
  const int64_t four = 4;
  const std::vector<LayerConfig> wrong = {
      entry("linear", {{"width", 4.0}}),
      entry("linear", {{"width", true}}),
      entry("linear", {{"width", std::string("four")}}),
      entry("linear", {{"width", int64_t{0}}}),
      entry("linear", {{"width", four}, {"bias", int64_t{1}}}),
      entry("linear", {{"width", four}, {"activation", false}}),
      entry("linear", {{"width", four}, {"activation", std::string("swish")}}),
      entry("conv2d", {{"channels", four}, {"kernel", std::vector<int64_t>{3}}}),
      entry("conv2d", {{"channels", four}, {"kernel", 3.0}}),
      entry("conv2d", {{"channels", four}, {"kernel", int64_t{0}}}),
      entry("conv2d", {{"channels", four}, {"kernel", (int64_t{1} << 32) + 3}}),
      entry("conv2d", {{"channels", four}, {"stride", int64_t{0}}}),
      entry("conv2d", {{"channels", four}, {"padding", int64_t{-1}}}),
      entry("conv2d", {{"channels", four}, {"padding", int64_t{3}}}),
      entry("conv2d", {{"channels", four}, {"groups", int64_t{3}}}),
      entry("conv2d", {{"channels", four}, {"activation", std::string("gelu")}}),
      entry("max-pool", {{"kernel", int64_t{9}}, {"padding", int64_t{0}}}),
      entry("upsample", {{"scale", int64_t{0}}}),
      entry("upsample", {{"mode", std::string("bicubic")}}),
      entry("upsample", {{"align_corners", true}}),
      entry("conv2d-transpose", {{"channels", four}, {"groups", int64_t{3}}}),
      entry("conv2d-transpose", {{"channels", four}, {"output_padding", int64_t{2}}}),
      entry("conv2d-transpose", {{"channels", four}, {"padding", int64_t{2}}}),
      entry("conv2d-transpose", {}),
      entry("dropout", {{"rate", 1.0}}),
      entry("dropout", {{"rate", std::string("much")}}),
      entry("self-attention", {{"heads", int64_t{3}}}),
      entry("feed-forward", {{"activation", std::string("none")}}),
      entry("experts"),
      entry("experts", {{"experts", int64_t{65536}}}),
      entry("experts", {{"experts", four}, {"experts_per_token", int64_t{5}}}),
      entry("experts", {{"experts", four}, {"activation", std::string("none")}}),
      entry("experts", {{"experts", four}, {"router", std::string("top")}}),
      entry("experts", {{"experts", four}, {"router_scale", 0.0}}),
      entry("experts", {{"experts", four}, {"balance_loss", -1.0}}),
      entry("experts", {{"experts", four}, {"router_z_loss", -1.0}}),
      entry("experts", {{"experts", four}, {"balance_rate", 0.1}}),
      entry("experts", {{"experts", four}, {"expert_groups", int64_t{3}}}),
      entry("experts", {{"experts", four}, {"shared_expert_gate", true}}),
      entry("residual"),
      entry("group"),
      entry("residual", {}, {entry("flatten")}),
      entry("classifier", {{"classes", int64_t{1}}}),
      entry("embedding", {{"width", four}}),
  };
  for (const LayerConfig& config : wrong) {
    EXPECT_THAT(refusal(config), StartsWith(kWhere)) << config.kind;
  }
}

// The shapes are in the order of model.image: channels, height, width.
TEST(Sequentials, RefuseAClassifierOfAnotherShapeThanTheLabels) {
  ModelConfig small = all_enlarging_kinds();
  small.sequence = {entry("conv2d", {{"channels", int64_t{6}}, {"stride", int64_t{2}}}),
                    entry("classifier")};
  EXPECT_THAT(refusal(small), AllOf(StartsWith(kWhere), HasSubstr("8 high and 8 wide"),
                                    HasSubstr("[6, 4, 4] (channels, height, width)"),
                                    HasSubstr("upsample or conv2d-transpose")));
  small.sequence = {entry("flatten"), entry("classifier")};
  EXPECT_THAT(refusal(small), AllOf(StartsWith(kWhere), HasSubstr("8 high and 8 wide")));
  EXPECT_THAT(refusal(entry("classifier")),
              AllOf(StartsWith(kWhere), HasSubstr("[2, 8, 8] (channels, height, width)"),
                    HasSubstr("put global-pool or flatten before it"),
                    HasSubstr("model.per_pixel = true")));
}

TEST(Sequentials, TellShapesInTheOrderOfTheRunFile) {
  LayerConfig conv =
      entry("conv2d", {{"channels", int64_t{6}}, {"kernel", int64_t{11}}, {"padding", int64_t{0}}});
  ModelConfig config = image_sequence({conv});
  config.image = {2, 8, 16};
  EXPECT_THAT(refusal(config), HasSubstr("window 11 x 11 over images 8 high and 16 wide"));
}

TEST(Sequentials, PairsHaveTwoNumbers) {
  for (const std::vector<int64_t>& kernel : std::vector<std::vector<int64_t>>{{}, {3}, {3, 3, 3}}) {
    EXPECT_THAT(refusal(entry("max-pool", {{"kernel", kernel}})), HasSubstr("[height, width]"));
  }
}

TEST(Sequentials, NameTheInnermostPlaceOnce) {
  LayerConfig inner = entry("linear", {{"width", int64_t{0}}});
  inner.where = "run.toml:33";
  const std::string what = refusal(entry("group", {}, {entry("residual", {}, {inner})}));
  EXPECT_THAT(what, StartsWith("run.toml:33: model layer 'linear'"));
  EXPECT_THAT(what, ::testing::Not(HasSubstr(kWhere)));
}

TEST(Sequentials, TheClassifierIsLastAndTheEmbeddingFirst) {
  EXPECT_THAT(refusal(image_sequence({entry("flatten"), entry("classifier"), entry("relu")})),
              AllOf(StartsWith(kWhere), HasSubstr("after the classifier")));
  ModelConfig features =
      image_sequence({entry("linear", {{"width", int64_t{6}}}),
                      entry("embedding", {{"width", int64_t{4}}, {"vocabulary", int64_t{9}}})});
  features.input = {6};
  EXPECT_THAT(refusal(features), AllOf(StartsWith(kWhere), HasSubstr("first layer")));
  EXPECT_THAT(input_error_of([] { (void)build_model(image_sequence({}), 0, 0); }),
              HasSubstr("[[model.layers]]"));
}

TEST(Sequentials, AskTheDataForVocabularyAndClasses) {
  ModelConfig config = image_sequence({entry("flatten"), entry("classifier")});
  config.classes = 0;
  EXPECT_THAT(refusal(config), AllOf(StartsWith(kWhere), HasSubstr("classes")));
  EXPECT_NO_THROW((void)build_model(config, 0, 3));
  ModelConfig text = token_sequence({entry("embedding", {{"width", int64_t{4}}})});
  text.vocabulary = 0;
  EXPECT_THAT(refusal(text), AllOf(StartsWith(kWhere), HasSubstr("vocabulary")));
  EXPECT_NO_THROW((void)build_model(text, 9, 0));
}

}  // namespace
}  // namespace penstock
