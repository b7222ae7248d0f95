#include "runtime/stage/stage_weights.h"

#include <algorithm>
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

bool StageWeights::mark_stale(const Device& device) {
  const bool stale = device.overwrites_gradients() && !in_pairs_;
  for (Parameter& parameter : set_.declared().parameters) {
    parameter.stale = stale && !parameter.frozen;
  }
  return stale;
}

void StageWeights::begin_gradients(Device& device) {
  if (mark_stale(device)) return;
  Tensor zero = gradients_.view(0, {first_sum_});
  device.pointwise().fill(zero, 0.0F);
}

void StageWeights::begin_sums(Device& device, bool gradients_stay) {
  const bool sums_only = gradients_stay || mark_stale(device);
  const int64_t first = sums_only ? first_sum_ : 0;
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

void StageWeights::begin_reduction(WithPart start) {
  buckets_.begin([this, start = std::move(start), next = size_t{0}](const Tensor& bucket) mutable {
    gradient_sum_.finish(bucket);
    if (shared_.empty()) return start(bucket, {});
    for (const Part& part : shared_[next++]) start(part.gradients, part.cuts);
  });
}

void StageWeights::each_shared_value(const WithPart& visit) const {
  for (const std::vector<Part>& parts : shared_) {
    for (const Part& part : parts) {
      if (part.values) visit(part.values, part.cuts);
    }
  }
}

// What follows the layers' gradients, the step sums, everybody wants whole.
void StageWeights::share(int replicas, int replica) {
  ShareCutter cutter(replicas);
  size_t last = set_.declared().parameters.size();
  for (const GradientBuckets::Bucket& bucket : buckets_.buckets()) {
    const size_t first = first_parameter_[bucket.first_layer];
    const std::vector<Stretch> stretches = cutter.cut(places_of(first, last));
    say_in_table(stretches, replica);
    std::vector<Part>& parts = shared_.emplace_back();
    for (const Stretch& stretch : stretches) {
      const Shape shape{stretch.elements};
      const bool held = stretch.value >= 0;
      parts.push_back({gradients_.view(stretch.gradient, shape),
                       held ? values_.view(stretch.value, shape) : Tensor(), stretch.cuts});
    }
    const int64_t behind = gradients_.elements() - first_sum_;
    if (shared_.size() == 1 && behind > 0) {
      parts.push_back({gradients_.view(first_sum_, {behind}), Tensor(), {}});
    }
    last = first;
  }
}

// Of the parameters [first, last) that are trained.
std::vector<ParameterPlace> StageWeights::places_of(size_t first, size_t last) const {
  const std::deque<Parameter>& all = set_.declared().parameters;
  std::vector<ParameterPlace> places;
  for (size_t i = first; i < last; ++i) {
    const Parameter& p = all[i];
    if (p.frozen) continue;
    places.push_back(
        {.gradient = p.gradient.data<float>() - gradients_.data<float>(),
         .value = p.first == nullptr ? p.weight.value().data<float>() - values_.data<float>() : -1,
         .elements = p.elements(),
         .room = padded(p.elements()),
         .tied = p.tied || p.first != nullptr});
  }
  return places;
}

void StageWeights::say_in_table(const std::vector<Stretch>& stretches, int replica) {
  for (StateEntry* entry : state()) {
    if (!entry->gradient) continue;
    const int64_t at = entry->gradient.data<float>() - gradients_.data<float>();
    for (const Stretch& stretch : stretches) {
      if (at < stretch.gradient || at >= stretch.gradient + stretch.elements) continue;
      entry->replica = replica;
      for (const int64_t cut : stretch.cuts) {
        entry->cuts.push_back(
            std::clamp<int64_t>(cut - (at - stretch.gradient), 0, entry->elements()));
      }
    }
  }
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
