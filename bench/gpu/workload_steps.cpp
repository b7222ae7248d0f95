#include <numeric>
#include <string>
#include <utility>

#include "bench/gpu/one_stage.h"
#include "bench/gpu/workload.h"
#include "runtime/network/models/models.h"
#include "runtime/network/optimizer/optimizer.h"
#include "runtime/planning/costs/layer_costs.h"

namespace penstock::gpu_bench {
namespace {

using Json = nlohmann::json;

// A network with what a training step of it needs.
struct StepPlan {
  ModelConfig model;
  int64_t vocabulary = 0, classes = 0;
  OptimizerConfig optimizer;
  int64_t batch = 1;  // samples of a micro-batch
  int micro_batches = 1;
  DType dtype = DType::BF16;
};

int64_t integer(const Json& request, const char* key) {
  return request.at(key).get<int64_t>();
}

StepPlan image_plan(const Json& request) {
  StepPlan plan;
  plan.model.image = {3, integer(request, "size"), integer(request, "size")};
  plan.model.classes = plan.classes = 1000;
  plan.optimizer.kind = "sgd";
  plan.optimizer.momentum = 0.9;
  return plan;
}

StepPlan resnet_plan(const Json& request) {
  StepPlan plan = image_plan(request);
  plan.model.kind = "resnet";
  plan.model.form = "imagenet";
  plan.model.depth = integer(request, "depth");
  return plan;
}

StepPlan amoebanet_plan(const Json& request) {
  StepPlan plan = image_plan(request);
  plan.model.kind = "amoebanet-d";
  plan.model.layers = integer(request, "layers");
  plan.model.filters = integer(request, "filters");
  return plan;
}

StepPlan lm_plan(const Json& request) {
  StepPlan plan;
  plan.model.kind = "decoder";
  plan.model.layers = integer(request, "layers");
  plan.model.width = integer(request, "width");
  plan.model.heads = integer(request, "heads");
  plan.model.context = integer(request, "context");
  plan.model.activation = "gelu-tanh";
  plan.model.positions = "learned";
  plan.model.tied_embedding = true;
  plan.vocabulary = integer(request, "vocabulary");
  plan.optimizer.kind = "adamw";
  plan.optimizer.weight_decay = 0.1;
  return plan;
}

class WholeStep final : public Workload {
 public:
  WholeStep(StepPlan plan, Device& device)
      : device_(device),
        plan_(std::move(plan)),
        model_(build_model(plan_.model, plan_.vocabulary, plan_.classes)),
        // FLOPs are counted before the layers belong to the stage.
        flops_(plan_.vocabulary > 0 ? lm_flops() : counted_flops()),
        stage_(model_.layers, plan_.dtype, {.step = true, .micro_batches = plan_.micro_batches},
               device),
        optimizer_(make_optimizer(plan_.optimizer)) {
    const ModelInput input = input_of(plan_.model);
    const bool words = input.label_per_position;
    const Shape labels = words ? Shape{plan_.batch, plan_.model.context} : Shape{plan_.batch};
    if (words) {
      input_ = drawn_below(plan_.vocabulary, labels, "tokens", device);
    } else {
      input_ = noise({plan_.batch, plan_.model.image[1], plan_.model.image[2], 3}, plan_.dtype,
                     1.7F, "images", device);  // of variance 1
    }
    stage_.set_field(
        "labels", drawn_below(words ? plan_.vocabulary : plan_.classes, labels, "labels", device));
    stage_.set_loss_scale(1.0F / static_cast<float>(labels.elements() * plan_.micro_batches));
    optimizer_->allocate(stage_.stage().weights().state(), device);
  }

  void iterate(DeviceClock& clock, size_t first_point) override {
    device_.memory().order_cache();
    clock.mark(first_point);
    stage_.stage().begin_step();
    for (int m = 0; m < plan_.micro_batches; ++m) {
      Tensors x;
      x.push_back(input_);
      stage_.forward_backward(m, std::move(x), {});
    }
    stage_.add_tied_up();
    optimizer_->step(1e-4, 1.0);
    stage_.stage().end_step(1);
    clock.mark(first_point + 1);
  }
  [[nodiscard]] double flops() const override { return flops_ * plan_.micro_batches; }
  [[nodiscard]] int64_t parameters() override { return stage_.parameters(); }

 private:
  // Model FLOPs are 6 N a token, where N are the weights that are multiplied by: 12 w^2 a block and
  // the softmax matrix; and attention, thrice 4 w for each of the T / 2 positions that a position
  // sees.
  [[nodiscard]] double lm_flops() const {
    const auto w = static_cast<double>(plan_.model.width);
    const auto t = static_cast<double>(plan_.model.context);
    const auto layers = static_cast<double>(plan_.model.layers);
    const double n = 12.0 * layers * w * w + static_cast<double>(plan_.vocabulary) * w;
    return static_cast<double>(plan_.batch) * t * (6.0 * n + 6.0 * layers * w * t);
  }
  [[nodiscard]] double counted_flops() const {
    const ModelCosts costs =
        counted_costs(model_, input_of(plan_.model), {plan_.batch}, plan_.dtype, plan_.optimizer,
                      device_model_named("h100"));
    return 3.0 * std::accumulate(
                     costs.layers.begin(), costs.layers.end(), 0.0,
                     [](double sum, const LayerCost& layer) { return sum + layer.forward_flops; });
  }

  Device& device_;
  StepPlan plan_;
  Sequential model_;
  double flops_;  // of a micro-batch
  OneStage stage_;
  std::unique_ptr<Optimizer> optimizer_;
  Tensor input_;
};

}  // namespace

std::unique_ptr<Workload> make_step(const Json& request, Device& device) {
  const std::string what = request.at("what").get<std::string>();
  StepPlan plan;
  if (what == "lm") {
    plan = lm_plan(request);
  } else if (what == "resnet") {
    plan = resnet_plan(request);
  } else if (what == "amoebanet") {
    plan = amoebanet_plan(request);
  } else {
    return nullptr;
  }
  plan.batch = integer(request, "batch");
  plan.micro_batches = request.value("micro_batches", 1);
  plan.dtype = dtype_of(request);
  return std::make_unique<WholeStep>(std::move(plan), device);
}

}  // namespace penstock::gpu_bench
