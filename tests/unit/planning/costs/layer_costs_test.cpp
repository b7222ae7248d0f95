// Counted costs against the real device: what a stage of all layers keeps and needs there is what
// the layers' numbers say.
#include "runtime/planning/costs/layer_costs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "runtime/network/optimizer/optimizer.h"
#include "runtime/network/stage/stage.h"
#include "tests/unit/planning/costs/counted_networks.h"

namespace penstock {
namespace {

// All layers as one stage on the CPU, with data that the test holds.
class Whole {
 public:
  explicit Whole(const Case& c, const Precision& precision = kPrecisions[0],
                 bool one_micro_batch = false)
      : batch_(c.batch),
        freeze_(c.optimizer.freeze),
        device_(make_cpu_device(1, precision.bf16)),
        model_(build_model(c.config, 0, 0)),
        stage_(model_.layers, RecomputeMode::Stage, 1, precision.dtype, *device_,
               {.freeze = freeze_,
                .first = true,
                .untrained = untrained_layers(),
                .one_micro_batch = one_micro_batch}),
        optimizer_(make_optimizer(c.optimizer)) {
    stage_.allocate(1);
    optimizer_->allocate(stage_.weights().state(), *device_);
    const ModelInput input = input_of(c.config);
    const Shape labels = batched(label_shape(input));
    data_ = {device_->zeros(batched(input.shape), input.dtype, Purpose::Workspace)};
    fields_ = {device_->zeros(labels, DType::I32, Purpose::Workspace)};
    micro_batch_.field_names = &names_;
    micro_batch_.fields = &fields_;
    run();
  }

  void run() {
    forward();
    (void)stage_.backward(micro_batch_, {});
    optimizer_->step(0.0, 1.0);
  }
  void forward() { (void)stage_.forward(micro_batch_, data_, true); }
  Stage& stage() { return stage_; }
  const MicroBatch& micro_batch() const { return micro_batch_; }
  MemoryUse use() { return device_->memory().use(); }
  void reset_peaks() { device_->memory().reset_peaks(); }

 private:
  // The number of layers at the beginning that train nothing.
  size_t untrained_layers() const {
    const auto first = std::ranges::find_if(
        model_.layers, [&](const auto& layer) { return trains(*layer, freeze_); });
    return static_cast<size_t>(first - model_.layers.begin());
  }
  Shape batched(const Shape& sample) const {
    std::vector<int64_t> extents = {batch_};
    extents.insert(extents.end(), sample.extents().begin(), sample.extents().end());
    return Shape(std::span<const int64_t>(extents));
  }

  int64_t batch_;
  std::vector<std::string> freeze_;
  std::unique_ptr<Device> device_;  // before the layers, which keep tensors of it
  Sequential model_;
  Stage stage_;
  std::unique_ptr<Optimizer> optimizer_;
  std::vector<std::string> names_ = {"labels"};
  std::vector<Tensor> fields_;
  Tensors data_;
  MicroBatch micro_batch_;
};

void expect_within(int64_t counted, int64_t real, double share) {
  EXPECT_LE(std::abs(static_cast<double>(counted - real)), share * static_cast<double>(real))
      << counted << " counted, " << real << " real";
}

TEST(LayerCosts, TapesOfLayersAddUpToThatOfAStage) {
  for (const Case& c : cases()) {
    for (const Precision& precision : kPrecisions) {
      SCOPED_TRACE(std::string(c.name) + " " + precision.name);
      const ModelCosts costs = counted(c, precision);
      Whole whole(c, precision);
      const int64_t before = whole.use().total_current;
      whole.forward();
      expect_within(total(costs, &LayerCost::tape_bytes), whole.use().total_current - before, 0.02);
      (void)whole.stage().backward_input(whole.micro_batch(), {});
      expect_within(total(costs, &LayerCost::weight_half_bytes), whole.use().total_current - before,
                    0.02);
      whole.stage().backward_weight(whole.micro_batch());
      EXPECT_EQ(whole.use().total_current, before);
    }
  }
}

TEST(LayerCosts, WhatLastsAllRunIsExact) {
  for (const Case& c : cases()) {
    for (const Precision& precision : kPrecisions) {
      SCOPED_TRACE(std::string(c.name) + " " + precision.name);
      const ModelCosts costs = counted(c, precision);
      Whole whole(c, precision);
      const MemoryUse use = whole.use();
      EXPECT_EQ(total(costs, &LayerCost::parameter_bytes), use.current_of(Purpose::Parameters));
      EXPECT_EQ(total(costs, &LayerCost::gradient_bytes), use.current_of(Purpose::Gradients));
      EXPECT_EQ(total(costs, &LayerCost::optimizer_bytes), use.current_of(Purpose::Optimizer));
      EXPECT_EQ(total(costs, &LayerCost::parameters),
                whole.stage().weights().set().declared().elements());
    }
  }
}

// Of scratch a stage has the most that a layer wants, and a layer's largest matrix is known.
TEST(LayerCosts, WhatRulesForMatricesKeepIsExact) {
  for (const char* kind : {"muon", "adafactor"}) {
    for (Case c : {cases()[0], cases()[1], cases()[3], cases()[4]}) {
      SCOPED_TRACE(std::string(c.name) + " " + kind);
      const int64_t before = Whole(c).use().current_of(Purpose::Workspace);
      c.optimizer.kind = kind;
      const ModelCosts costs = counted(c, kPrecisions[0]);
      Whole whole(c);
      const MemoryUse use = whole.use();
      EXPECT_EQ(total(costs, &LayerCost::optimizer_bytes), use.current_of(Purpose::Optimizer));
      int64_t scratch = 0;
      int64_t largest = 0;
      for (const LayerCost& layer : costs.layers) {
        scratch = std::max(scratch, layer.update_scratch_bytes);
        largest = std::max(largest, layer.whole_bytes);
        EXPECT_LE(layer.whole_bytes, layer.gradient_bytes) << layer.name;
      }
      EXPECT_EQ(scratch, use.current_of(Purpose::Workspace) - before);
      EXPECT_GT(largest, 0);
    }
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
    for (const Precision& precision : kPrecisions) {
      SCOPED_TRACE(std::string(c.name) + " " + precision.name);
      const ModelCosts costs = counted(c, precision);
      Whole whole(c, precision);
      const int64_t before = whole.use().total_current;
      whole.reset_peaks();
      whole.run();
      expect_within(predicted_peak(costs), whole.use().total_peak - before, 0.05);
    }
  }
}

// The filters' packed copies are gone once read in a pipeline with one micro-batch, and the layers'
// peaks count them instead.
TEST(LayerCosts, OneMicroBatchKeepsNoPackedFilters) {
  for (const Case& c : cases()) {
    for (const Precision& precision : kPrecisions) {
      SCOPED_TRACE(std::string(c.name) + " " + precision.name);
      const ModelCosts costs = counted(c, precision, false);
      const ModelCosts of_several = counted(c, precision);
      Whole whole(c, precision, true);
      Whole keeps(c, precision);
      EXPECT_EQ(
          total(of_several, &LayerCost::workspace_bytes) -
              total(costs, &LayerCost::workspace_bytes),
          keeps.use().current_of(Purpose::Workspace) - whole.use().current_of(Purpose::Workspace));
      const int64_t before = whole.use().total_current;
      whole.reset_peaks();
      whole.run();
      expect_within(predicted_peak(costs), whole.use().total_peak - before, 0.05);
    }
  }
  const Case resnet = cases()[3];
  const ModelCosts one = counted(resnet, kPrecisions[0], false);
  EXPECT_EQ(total(one, &LayerCost::workspace_bytes), 0);
  EXPECT_GT(total(counted(resnet, kPrecisions[0]), &LayerCost::workspace_bytes),
            total(one, &LayerCost::parameter_bytes));
}

void expect_measured_as_counted(const Case& c) {
  for (const Precision& precision : kPrecisions) {
    const auto device = make_cpu_device(1, precision.bf16);
    const ModelCosts real = measured_costs(build_model(c.config, 0, 0), input_of(c.config), c.batch,
                                           precision.dtype, c.optimizer, *device, {}, 0.0);
    const ModelCosts costs = counted(c, precision);
    for (size_t i = 0; i < costs.layers.size(); ++i) {
      SCOPED_TRACE(std::string(c.name) + " " + precision.name + " " + costs.layers[i].name);
      EXPECT_EQ(costs.layers[i].tape_bytes, real.layers[i].tape_bytes);
      EXPECT_EQ(costs.layers[i].weight_half_bytes, real.layers[i].weight_half_bytes);
      EXPECT_EQ(costs.layers[i].parameter_bytes, real.layers[i].parameter_bytes);
      EXPECT_EQ(costs.layers[i].optimizer_bytes, real.layers[i].optimizer_bytes);
      EXPECT_EQ(costs.layers[i].workspace_bytes, real.layers[i].workspace_bytes);
      EXPECT_EQ(costs.layers[i].forward_flops, real.layers[i].forward_flops);
    }
  }
}

TEST(LayerCosts, MeasuredMemoryIsTheCounted) {
  for (const Case& c : cases()) {
    if (c.config.kind == transformer().kind) expect_measured_as_counted(c);
  }
}

// A stage trains with layers that are counted at the same time: what it has of them is
// its own. (Layers once pointed to the last stage that they were declared to.)
TEST(LayerCosts, LeaveAStageOfTheSameLayersAlone) {
  const ModelConfig config = transformer();
  const auto device = make_cpu_device(1);
  const Sequential model = build_model(config, 0, 0);
  const std::vector<std::string> names = {"labels"};
  const std::vector<Tensor> fields = {device->zeros({4, 32}, DType::I32, Purpose::Workspace)};
  const auto gradients = [&](bool disturbed) {
    Stage stage(model.layers, RecomputeMode::Layer, 1, DType::F32, *device, {.first = true});
    stage.allocate(1);
    stage.begin_step();
    MicroBatch micro_batch;
    micro_batch.field_names = &names;
    micro_batch.fields = &fields;
    const auto disturb = [&] {
      if (!disturbed) return;
      (void)counted_costs(model, input_of(config), {4}, DType::F32, {}, device_model_named("cpu"));
    };
    disturb();
    (void)stage.forward(micro_batch, {fields[0]}, false);
    disturb();
    (void)stage.backward(micro_batch, {});
    EXPECT_TRUE(std::isfinite(stage.losses(0).loss.span<double>()[0]));
    const auto all = stage.weights().gradients().all().span<float>();
    return std::vector<float>(all.begin(), all.end());
  };
  EXPECT_EQ(gradients(true), gradients(false));
}

}  // namespace
}  // namespace penstock
