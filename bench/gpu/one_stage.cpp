#include "bench/gpu/one_stage.h"

#include <utility>

#include "kernels/ops/pointwise.h"
#include "kernels/philox.h"

namespace penstock::gpu_bench {

DType dtype_of(const nlohmann::json& request) {
  return request.value("precision", "bf16") == "fp32" ? DType::F32 : DType::BF16;
}

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

Tensor on_device(const Shape& shape, const std::vector<int32_t>& numbers, Device& device) {
  Tensor there = device.empty(shape, DType::I32, Purpose::Workspace);
  device.copy_from_host(there, numbers.data(), numbers.size() * sizeof(int32_t));
  return there;
}

Tensor drawn_below(int64_t end, const Shape& shape, const char* name, Device& device) {
  std::vector<int32_t> numbers(static_cast<size_t>(shape.elements()));
  const RandomStream stream = random_stream(1, hash_name(name));
  for (size_t i = 0; i < numbers.size(); ++i) {
    const auto drawn = static_cast<uint64_t>(philox(stream, i / 4)[i % 4]);
    numbers[i] = static_cast<int32_t>(drawn % static_cast<uint64_t>(end));
  }
  return on_device(shape, numbers, device);
}

OneStage::OneStage(std::span<const std::unique_ptr<Layer>> layers, DType dtype, Use use,
                   Device& device)
    : device_(device),
      stage_(layers, RecomputeMode::None, use.micro_batches, dtype, device,
             {.first = use.step, .one_micro_batch = use.step && use.micro_batches == 1}),
      micro_batches_(static_cast<size_t>(use.micro_batches)) {
  stage_.allocate(1);
  stage_.begin_step();
  for (size_t m = 0; m < micro_batches_.size(); ++m) {
    MicroBatch& micro_batch = micro_batches_[m];
    micro_batch.pass.seed = 1;
    micro_batch.pass.step = 1;
    micro_batch.index = static_cast<int>(m);
    micro_batch.field_names = &names_;
    micro_batch.fields = &fields_;
  }
}

void OneStage::set_field(const std::string& name, Tensor numbers) {
  names_.push_back(name);
  fields_.push_back(std::move(numbers));
}

void OneStage::set_loss_scale(float scale) {
  for (MicroBatch& micro_batch : micro_batches_) micro_batch.pass.loss_scale = scale;
}

void OneStage::forward_backward(int index, Tensors inputs, Tensors gradients) {
  const MicroBatch& micro_batch = micro_batches_[static_cast<size_t>(index)];
  device_.begin_section(2 * int64_t{index});
  const Tensors outputs = stage_.forward(micro_batch, std::move(inputs), true);
  device_.end_section();
  device_.begin_section(2 * int64_t{index} + 1);
  (void)stage_.backward(micro_batch, std::move(gradients));
  device_.end_section();
}

void OneStage::add_tied_up() {
  PointwiseOps& ops = device_.pointwise();
  for (const StateEntry* entry : stage_.weights().state()) {
    if (entry->holders.size() < 2) continue;
    Tensor sum = copy_of(entry->holders[0]->gradient, device_);
    for (size_t i = 1; i < entry->holders.size(); ++i) {
      ops.accumulate(sum, entry->holders[i]->gradient);
    }
    for (Parameter* holder : entry->holders) {
      if (holder->first == nullptr) ops.copy(holder->gradient, sum);
    }
  }
}

int64_t OneStage::parameters() {
  int64_t elements = 0;
  for (const StateEntry* entry : stage_.weights().state()) {
    if (entry->is_parameter()) elements += entry->elements();
  }
  return elements;
}

}  // namespace penstock::gpu_bench
