#include "runtime/planning/blueprint/layout.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/planning/blueprint/programs.h"
#include "tests/support/processor_time.h"

namespace penstock {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

ModelConfig small_transformer() {
  ModelConfig config;
  config.kind = "transformer-lm";
  config.layers = 4;
  config.width = 32;
  config.heads = 4;
  config.context = 8;
  config.vocabulary = 40;
  return config;
}

// A layer of somebody's own that reads the embedding's table as it is.
class Reader final : public UnaryLayer {
 public:
  using UnaryLayer::UnaryLayer;
  [[nodiscard]] std::string kind() const override { return "reader"; }
  void declare(ParameterSet& set) const override {
    set.share(table_, "embedding.token.weight", {40, 32}, {});
  }

 protected:
  Variable run(Context& /*context*/, const Variable& x) const override { return x; }

 private:
  Slot table_;
};

struct Laid {
  ModelInput input;
  Sequential model;
  Layout layout;
};
Laid lay(const ModelConfig& model, const PipelineConfig& pipeline,
         const std::vector<std::string>& freeze = {}, bool has_reader = false) {
  Laid laid;
  laid.input = input_of(model);
  laid.model = build_model(model, 0, 0);
  if (has_reader) {
    laid.model.layers.insert(laid.model.layers.begin() + 1, std::make_unique<Reader>("reader"));
  }
  check_model(model, laid.model, laid.input, pipeline.micro_batch_size);
  Config config;
  config.pipeline = pipeline;
  config.optimizer.freeze = freeze;
  laid.layout = lay_out(laid.model, laid.input, config, make_programs(pipeline).training);
  return laid;
}

std::string refusal(const ModelConfig& model, const PipelineConfig& pipeline,
                    const std::vector<std::string>& freeze = {}, bool has_reader = false) {
  try {
    (void)lay(model, pipeline, freeze, has_reader);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::Input);
    return error.what();
  }
  return "";
}

TEST(Layout, GivenSplitIsTaken) {
  PipelineConfig pipeline;
  pipeline.stages = 2;
  pipeline.split = {2, 5};
  const Laid laid = lay(small_transformer(), pipeline);
  EXPECT_EQ(laid.layout.first_layer, (std::vector<size_t>{0, 2, 7}));
  EXPECT_EQ(laid.layout.layers_of(laid.model, 1).front()->name(), "blocks.1");
}

TEST(Layout, BalancedSplitIsEven) {
  PipelineConfig pipeline;
  pipeline.stages = 4;
  const Laid laid = lay(small_transformer(), pipeline);
  for (int stage = 0; stage < 4; ++stage) {
    int blocks = 0;
    for (const auto& layer : laid.layout.layers_of(laid.model, stage)) {
      blocks += layer->kind() == "transformer-block" ? 1 : 0;
    }
    EXPECT_EQ(blocks, 1) << stage;
  }
}

// Each layer once had all parameters before it counted anew: four times the layers took sixteen
// times as long, 47 s of a start with ten thousand.
TEST(Layout, TimeGrowsWithTheLayersAndNotWithTheirSquare) {
  const auto seconds = [](int64_t layers) {
    ModelConfig config = small_transformer();
    config.layers = layers;
    config.width = 8;
    config.heads = 1;
    const double start = processor_seconds();
    EXPECT_EQ(std::ssize(lay(config, {}).layout.parameters), layers + 3);
    return processor_seconds() - start;
  };
  const double few = seconds(2'500);
  EXPECT_LT(seconds(10'000), 10 * few);
}

TEST(Layout, MoreStagesThanLayersAreRefused) {
  PipelineConfig pipeline;
  pipeline.stages = 8;
  EXPECT_THAT(refusal(small_transformer(), pipeline), HasSubstr("has 7"));
}

TEST(Layout, WrongSplitsAreRefused) {
  PipelineConfig pipeline;
  pipeline.stages = 2;
  pipeline.split = {3, 3};
  EXPECT_THAT(refusal(small_transformer(), pipeline), HasSubstr("7"));
  pipeline.split = {0, 7};
  EXPECT_NE(refusal(small_transformer(), pipeline), "");
}

TEST(Layout, BoundariesFollowTheBatch) {
  PipelineConfig pipeline;
  pipeline.stages = 2;
  const Laid laid = lay(small_transformer(), pipeline);
  const auto specs = traffic(laid.model, laid.layout, laid.input, 3, DType::BF16).boundaries;
  ASSERT_EQ(specs.size(), 2U);
  EXPECT_EQ(specs[0].at(0), (TensorSpec{{3, 8}, DType::I32}));
  EXPECT_EQ(specs[1].at(0), (TensorSpec{{3, 8, 32}, DType::BF16}));
}

TEST(Layout, FingerprintsDifferWhereNetworksDo) {
  const auto print = [](const ModelConfig& model, const PipelineConfig& pipeline) {
    const Laid laid = lay(model, pipeline);
    return fingerprint(
        laid.model, laid.layout,
        traffic(laid.model, laid.layout, laid.input, pipeline.micro_batch_size, DType::F32));
  };
  PipelineConfig two;
  two.stages = 2;
  const uint64_t reference = print(small_transformer(), two);
  EXPECT_EQ(print(small_transformer(), two), reference);
  ModelConfig wider = small_transformer();
  wider.hidden = 64;
  EXPECT_NE(print(wider, two), reference);
  PipelineConfig elsewhere = two;
  elsewhere.split = {1, 6};
  EXPECT_NE(print(small_transformer(), elsewhere), reference);
  PipelineConfig larger = two;
  larger.micro_batch_size = 2;
  EXPECT_NE(print(small_transformer(), larger), reference);
}

TEST(Layout, ParametersCountWithoutWeights) {
  PipelineConfig pipeline;
  const Laid laid = lay(small_transformer(), pipeline);
  // Embedding, 4 blocks of attention + feed-forward + two norms, final norm, softmax.
  constexpr int64_t kWidth = 32;
  const int64_t block =
      4 * (kWidth * kWidth + kWidth) + 2 * kWidth * 128 + 128 + kWidth + 4 * kWidth;
  EXPECT_EQ(laid.layout.total_parameters(),
            40 * kWidth + 4 * block + 2 * kWidth + 40 * kWidth + 40);
}

// Embedding, four blocks, a norm and the classifier.
TEST(Layout, KnowsWhereTrainingBegins) {
  PipelineConfig pipeline;
  pipeline.stages = 3;
  pipeline.split = {2, 3, 2};
  const auto untrained = [&](const std::vector<std::string>& freeze) {
    const Layout layout = lay(small_transformer(), pipeline, freeze).layout;
    return std::vector<size_t>{layout.first_trained, layout.untrained(0), layout.untrained(1),
                               layout.untrained(2)};
  };
  EXPECT_THAT(untrained({}), ElementsAre(0, 0, 0, 0));
  EXPECT_THAT(untrained({"embedding.*"}), ElementsAre(1, 1, 0, 0));
  EXPECT_THAT(untrained({"blocks.*"}), ElementsAre(0, 0, 0, 0));
  EXPECT_THAT(untrained({"embedding.*", "blocks.[012].*"}), ElementsAre(4, 2, 2, 0));
  EXPECT_THAT(untrained({"[!c]*"}), ElementsAre(6, 2, 3, 1));
}

TEST(Layout, CountsWhatIsFrozen) {
  const Layout layout = lay(small_transformer(), {}, {"classifier.*"}).layout;
  EXPECT_EQ(layout.frozen_parameters(), 32 * 40 + 40);
  EXPECT_EQ(lay(small_transformer(), {}).layout.frozen_parameters(), 0);
}

TEST(Layout, FreezesAllHoldersOfATiedParameter) {
  ModelConfig model = small_transformer();
  model.tied_embedding = true;
  EXPECT_FALSE(lay(model, {}).layout.ties.at(0).frozen);
  EXPECT_TRUE(lay(model, {}, {"embedding.*"}).layout.ties.at(0).frozen);
}

// In bf16 a stage with all holders would keep it in fp32, and one without the reader rounded.
TEST(Layout, RefusesReadersThatDoNotAgree) {
  ModelConfig model = small_transformer();
  model.tied_embedding = true;
  EXPECT_EQ(refusal(model, {}, {}, true), "");
  EXPECT_THAT(refusal(model, {}, {"embedding.*"}, true),
              HasSubstr("'embedding.token.weight' is rounded before it is read by one layer"));
}

TEST(Layout, RefusesToFreezeNothingOrAll) {
  EXPECT_THAT(
      refusal(small_transformer(), {}, {"blocks.*", "embeding.*"}),
      HasSubstr("optimizer.freeze: no tensor of the network is called 'embeding.*'; did you "
                "mean 'embedding.*'?"));
  EXPECT_THAT(refusal(small_transformer(), {}, {"classifier"}), HasSubstr("'classifier.*'"));
  EXPECT_THAT(refusal(small_transformer(), {}, {"zzzzzzzz"}), HasSubstr("names are like"));
  EXPECT_THAT(refusal(small_transformer(), {}, {"*"}), HasSubstr("nothing to train"));
}

// The patterns that are the default need not fit: a network may have no embedding.
TEST(Layout, RefusesNamesThatMuonDoesNotFind) {
  const ModelConfig model = small_transformer();
  const Sequential layers = build_model(model, 0, 0);
  Config config;
  config.optimizer.kind = "muon";
  const Schedule training = make_programs(config.pipeline).training;
  (void)lay_out(layers, input_of(model), config, training);
  config.optimizer.adamw_for.emplace_back("blokcs.0.*");
  try {
    (void)lay_out(layers, input_of(model), config, training);
    ADD_FAILURE() << "accepted";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("optimizer.adamw_for: no tensor of the network is called "
                                        "'blokcs.0.*'"));
  }
}

}  // namespace
}  // namespace penstock
