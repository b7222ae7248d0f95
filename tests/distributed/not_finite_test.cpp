// tests/distributed/not_finite_test.cpp -- a step whose loss or gradient is not finite: it changes
// nothing, on any rank, and what was first is named.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <map>
#include <memory>
#include <utility>

#include "runtime/engine/training/batches.h"
#include "runtime/engine/training/divergence/spoilt_weights.h"
#include "runtime/engine/training/step.h"
#include "runtime/network/layers/library/embedding.h"
#include "runtime/network/layers/library/linear.h"
#include "runtime/network/layers/library/loss.h"
#include "runtime/planning/blueprint/blueprint.h"
#include "tests/distributed/main.h"

namespace penstock {
namespace {

constexpr int64_t kTokens = 11;
constexpr int64_t kPlaces = 5;

// Four linear layers in a row, so that the product of their weights can be made what is wanted.
ModelMaker four_layers() {
  const auto input = [](const ModelConfig&) {
    return ModelInput{"tokens", {kPlaces}, DType::I32, true};
  };
  const auto build = [](const ModelConfig&, int64_t, int64_t) {
    Sequential model;
    model.inputs = {"tokens"};
    model.layers.push_back(std::make_unique<Embedding>(
        "embedding", Embedding::Options{.vocabulary = kTokens, .width = 6, .context = kPlaces}));
    for (const char* name : {"a", "b", "c", "d"}) {
      model.layers.push_back(std::make_unique<Linear>(name, Linear::Options{.in = 6, .out = 6}));
    }
    model.layers.push_back(std::make_unique<ClassifierLoss>(
        "loss", ClassifierLoss::Options{.width = 6, .classes = kTokens, .labels = "labels"}));
    return model;
  };
  return with_own_model({input, build});
}

// Whether there are as many replicas as ranks instead of as many stages, and the reduction.
class NotFinite : public testing::TestWithParam<std::tuple<bool, const char*>> {
 protected:
  NotFinite() {
    config_.model.kind = "own";
    config_.model.vocabulary = kTokens;
    config_.data.kind = "synthetic";
    config_.data.samples = 64;
    config_.pipeline.micro_batches = 4;
    config_.pipeline.micro_batch_size = 1;
    config_.pipeline.reduction = std::get<1>(GetParam());
    (std::get<0>(GetParam()) ? config_.pipeline.replicas : config_.pipeline.stages) =
        session_.ranks();
    grid_ = {.positions = config_.pipeline.stages, .replicas = config_.pipeline.replicas};
    network_ = make_mpi_network(session_, grid_);
    station_ = std::make_unique<Station>(Station{session_, *network_, grid_, *device_});
    source_ = std::make_unique<DataSource>(config_, models_, network_->world());
    blueprint_ = std::make_unique<Blueprint>(draw_up(config_, models_, kTokens, 0));
    pipeline_ = std::make_unique<Pipeline>(config_, *blueprint_, grid_, *network_, *device_);
    source_->open(pipeline_->reads().fields);
    batches_ =
        std::make_unique<Batches>(DataPart::Training, config_, *source_, *pipeline_, *station_);
    step_ = std::make_unique<Step>(config_, *pipeline_, *station_);
  }
  ~NotFinite() override { pipeline_->drain(); }

  // Multiplies the weights of that layer, from the element on.
  void scale(const std::string& layer, float factor, int64_t first = 0, int64_t count = 36) {
    for (StateEntry* entry : pipeline_->state()) {
      if (entry->name != layer + ".weight") continue;
      auto numbers = entry->value.span<float>().subspan(static_cast<size_t>(first),
                                                        static_cast<size_t>(count));
      for (float& number : numbers) number *= factor;
      entry->changed();
    }
  }
  [[nodiscard]] std::map<std::string, std::vector<float>> weights_and_states() const {
    std::map<std::string, std::vector<float>> all;
    for (StateEntry* entry : pipeline_->state()) {
      const auto values = entry->value.span<float>();
      all[entry->name].assign(values.begin(), values.end());
      for (const StateSlot& slot : entry->states) {
        const auto numbers = slot.tensor.span<float>();
        all[entry->name + slot.name].assign(numbers.begin(), numbers.end());
      }
    }
    return all;
  }
  // A step that is left out and changes nothing; why.
  std::string left_out(int64_t number, std::span<const Batch> batches) {
    const auto before = weights_and_states();
    step_->begin(number, batches);
    EXPECT_TRUE(step_->run().left_out);
    std::string why = step_->why_left_out();
    EXPECT_EQ(weights_and_states(), before);
    return why;
  }
  // The first token that is not in micro-batch 0, and the first micro-batch that it is in.
  std::pair<int32_t, int64_t> late_token(std::span<const Batch> batches) {
    std::vector<double> first(kTokens, 1e9);
    for (size_t m = 0; m < batches.size(); ++m) {
      if (batches[m].tensors.empty() || pipeline_->state().empty()) continue;
      const auto& names = batches[m].names;
      if (std::find(names.begin(), names.end(), "tokens") == names.end()) continue;
      for (const int32_t token : batches[m].field("tokens").span<const int32_t>()) {
        double& known = first[static_cast<size_t>(token)];
        known = std::min(
            known, static_cast<double>(network_->replicas().rank() * 4) + static_cast<double>(m));
      }
    }
    Collective& world = network_->world();
    std::vector<double> all(first.size() * static_cast<size_t>(world.size()));
    world.gather_to_all(first, all);
    for (size_t token = 0; token < first.size(); ++token) {
      double known = 1e9;
      for (size_t at = token; at < all.size(); at += first.size()) known = std::min(known, all[at]);
      if (known > 0.0 && known < 1e9) {
        return {static_cast<int32_t>(token), static_cast<int64_t>(known)};
      }
    }
    return {-1, -1};
  }

  const Session& session_ = test_session();
  const ModelMaker models_ = four_layers();
  Config config_;
  Grid grid_;
  std::unique_ptr<Device> device_ = make_cpu_device(1);
  std::unique_ptr<Network> network_;
  std::unique_ptr<Station> station_;
  std::unique_ptr<DataSource> source_;
  std::unique_ptr<Blueprint> blueprint_;
  std::unique_ptr<Pipeline> pipeline_;
  std::unique_ptr<Batches> batches_;
  std::unique_ptr<Step> step_;
};

// No step follows the last update, whose loss would tell.
TEST_P(NotFinite, WeightsAndAveragesAreNamedAfterTheLastUpdate) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(find_spoilt_weights(*pipeline_, *station_), "");
  const auto average_is = [&](float last) {
    for (StateEntry* entry : pipeline_->state()) {
      if (entry->name != "c.weight") continue;
      entry->average = device_->empty(entry->value.shape(), DType::F32, Purpose::Optimizer);
      std::ranges::fill(entry->average.span<float>(), 1.0F);
      entry->average.span<float>()[35] = last;
    }
  };
  average_is(kInfinity);
  EXPECT_EQ(find_spoilt_weights(*pipeline_, *station_), "the average of 'c.weight'");
  average_is(1.0F);
  EXPECT_EQ(find_spoilt_weights(*pipeline_, *station_), "");
  scale("b", kInfinity, 35, 1);
  EXPECT_EQ(find_spoilt_weights(*pipeline_, *station_), "'b.weight'");
}

// One token's embedding is far too large for the first layer's weights.
TEST_P(NotFinite, OutputsAreNamedByLayerAndMicroBatch) {
  const std::span<const Batch> batches = batches_->next();
  const auto [token, micro_batch] = late_token(batches);
  ASSERT_GT(micro_batch, 0);
  scale("embedding.token", 1e25F, 6 * token, 6);
  scale("a", 1e20F);
  EXPECT_EQ(left_out(1, batches),
            "step 1: the loss is not finite, first in the output of layer 'a', micro-batch " +
                std::to_string(micro_batch));
  scale("embedding.token", 1e-25F, 6 * token, 6);
  scale("a", 1e-20F);
  step_->begin(2, batches_->next());
  EXPECT_FALSE(step_->run().left_out) << "the run goes on";
}

// Small numbers times small weights and then large ones are numbers like any other, but gradients
// meet the large weights first.
TEST_P(NotFinite, GradientsAreNamedByParameterAndMicroBatch) {
  scale("a", 1e-19F);
  scale("b", 1e-18F);
  scale("c", 1e21F);
  scale("d", 1e21F);
  EXPECT_EQ(left_out(1, batches_->next()),
            "step 1: the gradient is not finite, first in the gradient of 'b.weight', micro-batch "
            "0");
}

INSTANTIATE_TEST_SUITE_P(Grids, NotFinite,
                         testing::Combine(testing::Bool(), testing::Values("fast", "exact")),
                         [](const auto& test) {
                           return std::string(std::get<0>(test.param) ? "OverReplicas"
                                                                      : "OverStages") +
                                  "_" + std::get<1>(test.param);
                         });

}  // namespace
}  // namespace penstock
