#include "runtime/stage/stage_weights.h"

#include <unordered_map>

#include "runtime/configuration/name_patterns.h"
#include "runtime/stage/initial_values.h"

namespace penstock {
namespace {

// Parameters share one buffer; each starts on a cache line.
int64_t padded(int64_t elements) {
  return (elements + 15) / 16 * 16;
}

}  // namespace

std::vector<const Buffer*> moving_buffers(ParameterSet& set) {
  const auto layer_of = [](const std::string& name) { return name.substr(0, name.rfind('.')); };
  std::unordered_map<std::string, bool> trained;  // by layer: has a parameter that is
  for (const Parameter& parameter : set.parameters()) {
    trained[layer_of(parameter.name)] |= !parameter.frozen;
  }
  std::vector<const Buffer*> moving;
  for (const Buffer& buffer : set.buffers()) {
    const auto layer = trained.find(layer_of(buffer.name));
    if (layer == trained.end() || layer->second) moving.push_back(&buffer);
  }
  return moving;
}

StageWeights::StageWeights(std::span<const std::unique_ptr<Layer>> layers,
                           std::span<const std::string> freeze) {
  for (const auto& layer : layers) {
    first_parameter_.push_back(set_.parameters().size());
    layer->declare(set_);
  }
  for (Parameter& parameter : set_.parameters()) {
    parameter.frozen = matches_any(parameter.name, freeze);
    if (parameter.tied) tied_.push_back(&parameter);
    if (parameter.first != nullptr) continue;
    held_.push_back(&parameter);
    if (!parameter.frozen) trained_.push_back(&parameter);
  }
}

void StageWeights::allocate(uint64_t seed, Device& device) {
  allocate_weights(seed, device);
  allocate_gradients(device);
  for (Buffer& buffer : set_.buffers()) {
    buffer.value = device.empty(buffer.shape, DType::F32, Purpose::Parameters);
    device.pointwise().fill(buffer.value, buffer.initial);
  }
}

void StageWeights::add_in_pairs(int micro_batches, Device& device) {
  int64_t behind = 0;
  for (const StepSums& sums : set_.step_sums()) behind += padded(sums.shape.elements());
  const int64_t first = gradients_.elements() - behind;
  gradient_sum_ = PairwiseSum(gradients_.view(0, {first}), micro_batches, device);
  forward_sum_ = PairwiseSum(gradients_.view(first, {behind}), micro_batches, device);
}

void StageWeights::allocate_weights(uint64_t seed, Device& device) {
  int64_t elements = 0;
  for (const Parameter* parameter : held_) elements += padded(parameter->elements());
  values_ = device.zeros({elements}, DType::F32, Purpose::Parameters);
  int64_t at = 0;
  for (Parameter* parameter : held_) {
    parameter->weight = Weight(values_.view(at, parameter->shape));
    at += padded(parameter->elements());
    fill_initial_values(*parameter, seed, device);
  }
  for (Parameter* parameter : tied_) {
    if (parameter->first != nullptr) parameter->weight = parameter->first->weight.shared();
  }
}

void StageWeights::allocate_gradients(Device& device) {
  int64_t total = 0;
  std::vector<int64_t> starts;  // of each parameter's, and one past the last
  for (const Parameter& parameter : set_.parameters()) {
    starts.push_back(total);
    if (!parameter.frozen) total += padded(parameter.elements());
  }
  starts.push_back(total);
  int64_t at = total;
  for (const StepSums& step_sums : set_.step_sums()) total += padded(step_sums.shape.elements());
  gradients_ = device.zeros({total}, DType::F32, Purpose::Gradients);
  for (size_t i = 0; i < set_.parameters().size(); ++i) {
    Parameter& parameter = set_.parameters()[i];
    if (parameter.frozen) continue;
    parameter.gradient = gradients_.view(starts[i], parameter.shape);
  }
  std::vector<int64_t> first_of_layer;
  for (const size_t first : first_parameter_) first_of_layer.push_back(starts[first]);
  buckets_ = GradientBuckets(gradients_, first_of_layer);
  for (StepSums& step_sums : set_.step_sums()) {
    step_sums.value = gradients_.view(at, step_sums.shape);
    at += padded(step_sums.shape.elements());
  }
}

}  // namespace penstock
