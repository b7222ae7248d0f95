#include "bench/gpu/workload.h"

#include <numeric>
#include <span>
#include <vector>

#include "kernels/ops/dense.h"
#include "kernels/ops/pointwise.h"
#include "kernels/philox.h"
#include "runtime/costs/layer_costs.h"
#include "runtime/models/models.h"
#include "runtime/optimizer/optimizer.h"
#include "runtime/stage/stage.h"

namespace penstock::gpu_bench {
namespace {

using Json = nlohmann::json;

DType dtype_of(const Json& request) {
  return request.value("precision", "bf16") == "fp32" ? DType::F32 : DType::BF16;
}

// Uniform in (-scale, scale): zeros would draw less power than real numbers, and run faster.
Tensor noise(const Shape& shape, DType dtype, float scale, const char* name, Device& device) {
  std::vector<float> numbers(static_cast<size_t>(shape.elements()));
  const RandomStream stream = random_stream(1, hash_name(name));
  for (size_t i = 0; i < numbers.size(); i += 4) {
    const auto four = philox(stream, i / 4);
    for (size_t j = 0; j < 4 && i + j < numbers.size(); ++j) {
      numbers[i + j] = scale * (2.0F * uniform_of(four[j]) - 1.0F);
    }
  }
  Tensor wide = device.empty(shape, DType::F32, Purpose::Workspace);
  device.copy_from_host(wide, numbers.data(), numbers.size() * sizeof(float));
  if (dtype == DType::F32) return wide;
  Tensor narrow = device.empty(shape, dtype, Purpose::Workspace);
  device.pointwise().copy(narrow, wide);
  return narrow;
}

Tensor copy_of(const Tensor& from, Device& device) {
  Tensor to = device.empty(from.shape(), from.dtype(), Purpose::Activations);
  device.pointwise().copy(to, from);
  return to;
}

class Product final : public Workload {
 public:
  Product(const Json& request, Device& device)
      : device_(device),
        size_(request.at("size").get<int64_t>()),
        x_(noise({size_, size_}, dtype_of(request), 1.0F, "x", device)),
        y_(device.empty({size_, size_}, dtype_of(request), Purpose::Activations)),
        w_(noise({size_, size_}, DType::F32, 1.0F, "w", device)) {}

  void iterate(DeviceClock& clock, size_t first_point) override {
    clock.mark(first_point);
    device_.dense().linear_forward(y_, x_, w_, nullptr, Fused::None);
    clock.mark(first_point + 1);
  }
  [[nodiscard]] double flops() const override {
    const auto n = static_cast<double>(size_);
    return 2.0 * n * n * n;
  }

 private:
  Device& device_;
  int64_t size_;
  Tensor x_, y_;
  Weight w_;
};

// One stage, run as the executor runs it: a section for the forward, one for the backward.
class OneStage {
 public:
  OneStage(std::span<const std::unique_ptr<Layer>> layers, DType dtype, bool first, Device& device)
      : device_(device), stage_(layers, RecomputeMode::None, 1, dtype, device, {.first = first}) {
    stage_.allocate(1);
    stage_.begin_step();
    micro_batch_.pass.seed = 1;
    micro_batch_.pass.step = 1;
  }
  void forward_backward(Tensors inputs, Tensors gradients) {
    device_.begin_section(0);
    const Tensors outputs = stage_.forward(micro_batch_, std::move(inputs), true);
    device_.end_section();
    device_.begin_section(1);
    (void)stage_.backward(micro_batch_, std::move(gradients));
    device_.end_section();
  }
  [[nodiscard]] Stage& stage() { return stage_; }
  [[nodiscard]] MicroBatch& micro_batch() { return micro_batch_; }

 private:
  Device& device_;
  Stage stage_;
  MicroBatch micro_batch_;
};

ModelConfig blocks_config(const Json& request) {
  ModelConfig config;
  config.layers = request.at("blocks").get<int64_t>();
  config.width = request.at("width").get<int64_t>();
  config.heads = request.at("heads").get<int64_t>();
  config.context = request.at("sequence").get<int64_t>();
  config.activation = "gelu-tanh";
  return config;
}

class Blocks final : public Workload {
 public:
  Blocks(const Json& request, Device& device)
      : device_(device),
        config_(blocks_config(request)),
        batch_(request.at("batch").get<int64_t>()),
        model_(build_model(config_, 64, 0)),
        // Without the embedding before them, the norm and the classifier behind.
        stage_(std::span(model_.layers).subspan(1, static_cast<size_t>(config_.layers)),
               dtype_of(request), false, device),
        input_(noise(shape(), dtype_of(request), 1.7F, "x", device)),  // of variance 1
        gradient_(noise(shape(), dtype_of(request), 1.0F, "g", device)) {}

  void iterate(DeviceClock& clock, size_t first_point) override {
    device_.memory().order_cache();
    // A stage may overwrite what is handed to it.
    Tensors x, g;
    x.push_back(copy_of(input_, device_));
    g.push_back(copy_of(gradient_, device_));
    clock.mark(first_point);
    stage_.forward_backward(std::move(x), std::move(g));
    clock.mark(first_point + 1);
  }
  // Per token and block, forward: 12 w^2 weights at 2 FLOPs each, and queries by keys and
  // probabilities by values over half of the T positions.
  [[nodiscard]] double flops() const override {
    const auto w = static_cast<double>(config_.width);
    const auto t = static_cast<double>(config_.context);
    const auto tokens = static_cast<double>(batch_) * t;
    return 3.0 * static_cast<double>(config_.layers) * tokens * (24.0 * w * w + 2.0 * t * w);
  }

 private:
  [[nodiscard]] Shape shape() const { return {batch_, config_.context, config_.width}; }

  Device& device_;
  ModelConfig config_;
  int64_t batch_;
  Sequential model_;
  OneStage stage_;
  Tensor input_, gradient_;
};

ModelConfig resnet_config(const Json& request) {
  ModelConfig config;
  config.kind = "resnet";
  config.form = "imagenet";
  config.depth = request.at("depth").get<int64_t>();
  const auto size = request.at("size").get<int64_t>();
  config.image = {3, size, size};
  config.classes = 1000;
  return config;
}

OptimizerConfig sgd() {
  OptimizerConfig config;
  config.kind = "sgd";
  config.momentum = 0.9;
  return config;
}

class ResNet final : public Workload {
 public:
  ResNet(const Json& request, Device& device)
      : device_(device),
        config_(resnet_config(request)),
        batch_(request.at("batch").get<int64_t>()),
        model_(build_model(config_, 0, config_.classes)),
        flops_(3.0 * forward_flops(dtype_of(request))),  // before the layers belong to the stage
        stage_(model_.layers, dtype_of(request), true, device),
        optimizer_(make_optimizer(sgd())),
        images_(noise({batch_, config_.image[1], config_.image[2], 3}, dtype_of(request), 1.7F,
                      "images", device)),
        labels_({labels()}) {
    optimizer_->allocate(stage_.stage().weights().state(), device);
    stage_.micro_batch().field_names = &names_;
    stage_.micro_batch().fields = &labels_;
    stage_.micro_batch().pass.loss_scale = 1.0F / static_cast<float>(batch_);
  }

  void iterate(DeviceClock& clock, size_t first_point) override {
    device_.memory().order_cache();
    Tensors x;
    x.push_back(images_);
    clock.mark(first_point);
    stage_.stage().begin_step();
    stage_.forward_backward(std::move(x), {});
    optimizer_->step(1e-4, 1.0);
    stage_.stage().end_step(1);
    clock.mark(first_point + 1);
  }
  [[nodiscard]] double flops() const override { return flops_; }

 private:
  [[nodiscard]] double forward_flops(DType dtype) const {
    const ModelCosts costs = counted_costs(model_, input_of(config_), {batch_}, dtype, sgd(),
                                           device_model_named("h100"));
    return std::accumulate(
        costs.layers.begin(), costs.layers.end(), 0.0,
        [](double sum, const LayerCost& layer) { return sum + layer.forward_flops; });
  }
  [[nodiscard]] Tensor labels() const {
    std::vector<int32_t> numbers(static_cast<size_t>(batch_));
    for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<int32_t>(37 * i % 1000);
    Tensor there = device_.empty({batch_}, DType::I32, Purpose::Workspace);
    device_.copy_from_host(there, numbers.data(), numbers.size() * sizeof(int32_t));
    return there;
  }

  Device& device_;
  ModelConfig config_;
  int64_t batch_;
  Sequential model_;
  double flops_;
  OneStage stage_;
  std::unique_ptr<Optimizer> optimizer_;
  Tensor images_;
  std::vector<Tensor> labels_;
  std::vector<std::string> names_ = {"labels"};
};

}  // namespace

std::unique_ptr<Workload> make_workload(const Json& request, Device& device) {
  const std::string what = request.at("what").get<std::string>();
  if (what == "matmul") return std::make_unique<Product>(request, device);
  if (what == "blocks") return std::make_unique<Blocks>(request, device);
  if (what == "resnet") return std::make_unique<ResNet>(request, device);
  fail_input("gpu_bench knows matmul, blocks and resnet, not " + what);
}

}  // namespace penstock::gpu_bench
