// tests/distributed/tied_gradients_test.cpp -- the gradient of a parameter that several layers hold
// is the sum of what all of them have, in layer order, on every rank that holds one.
//
// Comparing runs with one another cannot show that: when the sum once left out its second holder,
// every number of stages agreed on the wrong gradient, and no test failed.
#include "runtime/engine/pipeline/tied_gradients.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <memory>
#include <random>
#include <vector>

#include "kernels/device.h"
#include "runtime/planning/blueprint/programs.h"
#include "tests/distributed/main.h"

namespace penstock {
namespace {

// One table that the encoder, the decoder and the softmax hold.
ModelConfig translation() {
  ModelConfig config;
  config.kind = "transformer-nmt";
  config.layers = 2;
  config.decoder_layers = 2;
  config.width = 8;
  config.heads = 2;
  config.hidden = 12;
  config.context = 6;
  config.vocabulary = 15;
  config.tied_embedding = true;
  return config;
}

// What the holder of that place has at each element: of widely different sizes, so that another
// order of the sum gives other bits.
std::vector<float> gradient_of(size_t holder, size_t elements) {
  std::mt19937 engine(static_cast<unsigned>(7 + holder));
  std::uniform_real_distribution<float> mantissa(-1.0F, 1.0F);
  std::uniform_int_distribution<int> exponent(-20, 20);
  std::vector<float> numbers(elements);
  for (float& x : numbers) x = std::ldexp(mantissa(engine), exponent(engine));
  return numbers;
}

class Tied : public testing::Test {
 protected:
  // A network of as many stages as ranks, of which this rank makes its own.
  void SetUp() override {
    config_.model = translation();
    config_.pipeline.stages = session_.ranks();
    config_.pipeline.micro_batches = session_.ranks();
    input_ = input_of(config_.model);
    model_ = build_model(config_.model, 0, 0);
    check_model(config_.model, model_, input_, 1);
    programs_ = make_programs(config_.pipeline);
    layout_ = lay_out(model_, input_, config_, programs_.training);
    stages_.assign(static_cast<size_t>(layout_.stages), nullptr);
    const int mine = session_.rank();
    stage_ = std::make_unique<Stage>(layout_.layers_of(model_, mine), RecomputeMode::None, 1,
                                     DType::F32, device_, StagePlace{.first = mine == 0});
    stage_->allocate(1);
    stages_[static_cast<size_t>(mine)] = stage_.get();
  }

  // This rank's, in layer order.
  [[nodiscard]] std::vector<Parameter*> own_parameters() const {
    for (const StateEntry* entry : stage_->weights().state()) {
      if (entry->tied) return entry->holders;
    }
    return {};
  }
  // The place among all holders of each of own_parameters().
  [[nodiscard]] std::vector<size_t> own_holders() const {
    std::vector<size_t> places;
    const std::vector<size_t>& layers = layout_.ties.at(0).layers;
    for (size_t holder = 0; holder < layers.size(); ++holder) {
      if (layout_.stage_of(layers[holder]) == session_.rank()) places.push_back(holder);
    }
    return places;
  }

  const Session& session_ = test_session();
  std::unique_ptr<Device> owned_ = make_cpu_device(1);
  Device& device_ = *owned_;
  Config config_;
  ModelInput input_;
  Sequential model_;
  Programs programs_;
  Layout layout_;
  std::unique_ptr<Stage> stage_;
  std::vector<Stage*> stages_;
  std::unique_ptr<Network> network_ =
      make_mpi_network(session_, {.positions = session_.ranks(), .replicas = 1});
};

TEST_F(Tied, GradientsAreTheSumOfAllHoldersInLayerOrder) {
  ASSERT_EQ(layout_.ties.size(), 1U);
  const size_t holders = layout_.ties[0].layers.size();
  ASSERT_EQ(holders, 3U);
  const auto elements = static_cast<size_t>(layout_.ties[0].shape.elements());
  const std::vector<size_t> own = own_holders();
  ASSERT_EQ(own_parameters().size(), own.size());
  for (size_t i = 0; i < own.size(); ++i) {
    const std::vector<float> numbers = gradient_of(own[i], elements);
    device_.copy_from_host(own_parameters()[i]->gradient, numbers.data(), elements * sizeof(float));
  }

  TiedGradients tied(layout_, programs_.training.rank_of_stage, stages_, *network_, device_);
  tied.add_up();

  std::vector<float> sum = gradient_of(0, elements);
  for (size_t holder = 1; holder < holders; ++holder) {
    const std::vector<float> more = gradient_of(holder, elements);
    for (size_t e = 0; e < elements; ++e) sum[e] += more[e];
  }
  for (const Parameter* parameter : own_parameters()) {
    if (parameter->first != nullptr) continue;  // shares the weight of another one here
    EXPECT_EQ(std::memcmp(parameter->gradient.data<float>(), sum.data(), elements * sizeof(float)),
              0);
  }
}

}  // namespace
}  // namespace penstock
