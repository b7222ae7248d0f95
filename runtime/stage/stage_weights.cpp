#include "runtime/stage/stage_weights.h"

#include <utility>

#include "runtime/configuration/name_patterns.h"
#include "runtime/stage/initial_values.h"

namespace penstock {
namespace {

// Parameters share one buffer; each starts on a cache line.
int64_t padded(int64_t elements) {
  return (elements + 15) / 16 * 16;
}

}  // namespace

StageWeights::StageWeights(std::span<const std::unique_ptr<Layer>> layers,
                           std::span<const std::string> freeze) {
  for (const auto& layer : layers) {
    first_parameter_.push_back(set_.declared().parameters.size());
    layer->declare(set_);
  }
  for (Parameter& parameter : set_.declared().parameters) {
    parameter.frozen = matches_any(parameter.name, freeze);
  }
  table_.emplace(set_);
}

void StageWeights::allocate(uint64_t seed, Device& device) {
  allocate_weights(seed, device);
  allocate_gradients(device);
  for (Buffer& buffer : set_.declared().buffers) {
    buffer.value = device.empty(buffer.shape, DType::F32, Purpose::Parameters);
    device.pointwise().fill(buffer.value, buffer.initial);
  }
  table_->bind();
}

// One past the last of its parameters.
size_t StageWeights::end_of_layer(size_t layer) const {
  return layer + 1 < first_parameter_.size() ? first_parameter_[layer + 1]
                                             : set_.declared().parameters.size();
}

void StageWeights::begin_step(Device& device) {
  const bool stale = device.overwrites_gradients() && !in_pairs_;
  for (Parameter& parameter : set_.declared().parameters) {
    parameter.stale = stale && !parameter.frozen;
  }
  const int64_t first = stale ? first_sum_ : 0;
  Tensor zero = gradients_.view(first, {gradients_.elements() - first});
  device.pointwise().fill(zero, 0.0F);
}

void StageWeights::complete_gradients(size_t layer, Device& device) {
  std::deque<Parameter>& all = set_.declared().parameters;
  for (size_t i = first_parameter_[layer]; i < end_of_layer(layer); ++i) {
    if (!all[i].stale) continue;
    device.pointwise().fill(all[i].gradient, 0.0F);
    all[i].stale = false;
  }
}

std::vector<const Parameter*> StageWeights::parameters_of(size_t layer) const {
  const std::deque<Parameter>& all = set_.declared().parameters;
  std::vector<const Parameter*> some;
  for (size_t i = first_parameter_[layer]; i < end_of_layer(layer); ++i) {
    if (!all[i].frozen) some.push_back(&all[i]);
  }
  return some;
}

void StageWeights::add_in_pairs(int micro_batches, Device& device) {
  const int64_t behind = gradients_.elements() - first_sum_;
  gradient_sum_ = PairwiseSum(gradients_.view(0, {first_sum_}), micro_batches, device);
  forward_sum_ = PairwiseSum(gradients_.view(first_sum_, {behind}), micro_batches, device);
  in_pairs_ = true;
}

void StageWeights::begin_reduction(GradientBuckets::Start start) {
  buckets_.begin([this, start = std::move(start)](const Tensor& bucket) {
    gradient_sum_.finish(bucket);
    start(bucket);
  });
}

void StageWeights::allocate_weights(uint64_t seed, Device& device) {
  int64_t elements = 0;
  for (const StateEntry* entry : state()) {
    if (entry->is_parameter()) elements += padded(entry->elements());
  }
  values_ = device.zeros({elements}, DType::F32, Purpose::Parameters);
  int64_t at = 0;
  for (const StateEntry* entry : state()) {
    if (!entry->is_parameter()) continue;
    Parameter& first = *entry->holders.front();
    first.weight = Weight(values_.view(at, first.shape));
    at += padded(first.elements());
    fill_initial_values(first, seed, device);
    for (Parameter* holder : std::span(entry->holders).subspan(1)) {
      holder->weight = first.weight.shared();
    }
  }
}

void StageWeights::allocate_gradients(Device& device) {
  int64_t total = 0;
  std::vector<int64_t> starts;  // of each parameter's, and one past the last
  for (const Parameter& parameter : set_.declared().parameters) {
    starts.push_back(total);
    if (!parameter.frozen) total += padded(parameter.elements());
  }
  starts.push_back(total);
  first_sum_ = total;
  int64_t at = total;
  for (const StepSums& step_sums : set_.declared().step_sums)
    total += padded(step_sums.shape.elements());
  gradients_ = device.zeros({total}, DType::F32, Purpose::Gradients);
  for (size_t i = 0; i < set_.declared().parameters.size(); ++i) {
    Parameter& parameter = set_.declared().parameters[i];
    if (parameter.frozen) continue;
    parameter.gradient = gradients_.view(starts[i], parameter.shape);
  }
  std::vector<int64_t> first_of_layer;
  for (const size_t first : first_parameter_) first_of_layer.push_back(starts[first]);
  buckets_ = GradientBuckets(gradients_, first_of_layer);
  for (StepSums& step_sums : set_.declared().step_sums) {
    step_sums.value = gradients_.view(at, step_sums.shape);
    at += padded(step_sums.shape.elements());
  }
}

}  // namespace penstock
