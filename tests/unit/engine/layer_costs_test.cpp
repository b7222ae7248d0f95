// Counted costs against the real device: what a stage of all layers keeps and needs there is what
// the layers' numbers say, and a network that no machine holds is counted all the same.
#include "runtime/engine/layer_costs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <fstream>

#include "kernels/counting/counting_device.h"
#include "runtime/engine/stage.h"
#include "runtime/optimizer/optimizer.h"
#include "tests/unit/models/configs.h"

namespace penstock {
namespace {

using testing::HasSubstr;

// Larger than in the tests of models, so that tensors and not their padding make the sums.
ModelConfig transformer() {
  ModelConfig config = transformer_config();
  config.layers = 3;
  config.width = 64;
  config.heads = 4;
  config.context = 32;
  config.vocabulary = 100;
  config.dropout = 0.1;
  return config;
}
ModelConfig mlp() {
  ModelConfig config = mlp_config();
  config.input = {400};
  config.hidden_layers = {512, 256, 256};
  return config;
}
ModelConfig images() {
  ModelConfig config = all_image_kinds();
  config.image = {2, 32, 32};
  return config;
}
ModelConfig tokens() {
  ModelConfig config = all_token_kinds();
  config.context = 128;
  return config;
}

struct Case {
  const char* name;
  ModelConfig config;
  int64_t batch;
};
std::vector<Case> cases() {
  return {{"transformer-lm", transformer(), 16},
          {"resnet", resnet_config("cifar", 20), 32},
          {"mlp", mlp(), 1024},
          {"images", images(), 32},
          {"tokens", tokens(), 32}};
}

ModelCosts counted(const ModelConfig& config, int64_t batch, DType dtype = DType::F32,
                   const OptimizerConfig& optimizer = {}, const char* device = "cpu") {
  const Sequential model = build_model(config, 0, 0);
  return counted_costs(model, input_of(config), batch, dtype, optimizer,
                       device_model_named(device));
}

template <class Part>
auto total(const ModelCosts& costs, Part part) {
  auto sum = costs.layers.front().*part;
  for (size_t i = 1; i < costs.layers.size(); ++i) sum += costs.layers[i].*part;
  return sum;
}

// All layers as one stage on the CPU, with data that the test holds.
class Whole {
 public:
  Whole(const Case& c, DType dtype)
      : batch_(c.batch),
        model_(build_model(c.config, 0, 0)),
        device_(make_cpu_device(1)),
        stage_(model_.layers, RecomputeMode::Stage, 1, dtype, *device_),
        optimizer_(make_optimizer({})) {
    stage_.set_first(true);
    stage_.allocate(1);
    optimizer_->allocate(stage_.parameters(), *device_);
    const ModelInput input = input_of(c.config);
    const Shape labels = batched(input.label_per_position ? input.shape : Shape{});
    data_ = {device_->zeros(batched(input.shape), input.dtype, Purpose::Workspace)};
    fields_ = {device_->zeros(labels, DType::I32, Purpose::Workspace)};
    moment_.field_names = &names_;
    moment_.fields = &fields_;
    run();
  }

  void run() {
    forward();
    (void)stage_.backward(moment_, {});
    optimizer_->step(0.0, 1.0);
  }
  void forward() { (void)stage_.forward(moment_, data_, true); }
  Stage& stage() { return stage_; }
  const Moment& moment() const { return moment_; }
  MemoryUse use() { return device_->memory().use(); }
  void reset_peaks() { device_->memory().reset_peaks(); }

 private:
  Shape batched(const Shape& sample) const {
    std::vector<int64_t> extents = {batch_};
    extents.insert(extents.end(), sample.extents().begin(), sample.extents().end());
    return Shape(std::span<const int64_t>(extents));
  }

  int64_t batch_;
  Sequential model_;
  std::unique_ptr<Device> device_;
  Stage stage_;
  std::unique_ptr<Optimizer> optimizer_;
  std::vector<std::string> names_ = {"labels"};
  std::vector<Tensor> fields_;
  Tensors data_;
  Moment moment_;
};

void expect_within(int64_t counted, int64_t real, double share) {
  EXPECT_LE(std::abs(static_cast<double>(counted - real)), share * static_cast<double>(real))
      << counted << " counted, " << real << " real";
}

TEST(LayerCosts, TapesOfLayersAddUpToThatOfAStage) {
  for (const Case& c : cases()) {
    for (const DType dtype : {DType::F32, DType::BF16}) {
      SCOPED_TRACE(std::string(c.name) + " " + name_of(dtype));
      const ModelCosts costs = counted(c.config, c.batch, dtype);
      Whole whole(c, dtype);
      const int64_t before = whole.use().total_current;
      whole.forward();
      expect_within(total(costs, &LayerCost::tape_bytes), whole.use().total_current - before, 0.02);
      (void)whole.stage().backward_input(whole.moment(), {});
      expect_within(total(costs, &LayerCost::weight_half_bytes),
                    whole.use().total_current - before, 0.02);
      whole.stage().backward_weight(whole.moment());
      EXPECT_EQ(whole.use().total_current, before);
    }
  }
}

TEST(LayerCosts, WhatLastsAllRunIsExact) {
  for (const Case& c : cases()) {
    SCOPED_TRACE(c.name);
    const ModelCosts costs = counted(c.config, c.batch);
    Whole whole(c, DType::F32);
    const MemoryUse use = whole.use();
    EXPECT_EQ(total(costs, &LayerCost::parameter_bytes), use.current_of(Purpose::Parameters));
    EXPECT_EQ(total(costs, &LayerCost::gradient_bytes), use.current_of(Purpose::Gradients));
    EXPECT_EQ(total(costs, &LayerCost::optimizer_bytes), use.current_of(Purpose::Optimizer));
    EXPECT_EQ(total(costs, &LayerCost::parameters), whole.stage().set().elements());
    std::printf("%s workspace %ld counted, real %ld\n", c.name, (long)total(costs, &LayerCost::workspace_bytes), (long)use.current_of(Purpose::Workspace));
  }
}

// Forward keeps tape after tape, backward gives them back from the last.
int64_t predicted_peak(const ModelCosts& costs) {
  int64_t before = 0;
  int64_t peak = 0;
  for (const LayerCost& layer : costs.layers) {
    peak = std::max(peak, before + layer.record_peak_bytes);
    before += layer.tape_bytes;
    peak = std::max(peak, before + layer.backward_peak_bytes);
  }
  return peak;
}

TEST(LayerCosts, PredictThePeakOfAStep) {
  for (const Case& c : cases()) {
    for (const DType dtype : {DType::F32, DType::BF16}) {
      SCOPED_TRACE(std::string(c.name) + " " + name_of(dtype));
      const ModelCosts costs = counted(c.config, c.batch, dtype);
      Whole whole(c, dtype);
      const int64_t before = whole.use().total_current;
      whole.reset_peaks();
      whole.run();
      expect_within(predicted_peak(costs), whole.use().total_peak - before, 0.05);
    }
  }
}

}  // namespace
}  // namespace penstock
