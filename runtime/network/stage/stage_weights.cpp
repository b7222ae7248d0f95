#include "runtime/network/stage/stage_weights.h"

#include <algorithm>
#include <utility>

#include "runtime/network/autograd/name_patterns.h"
#include "runtime/network/stage/initial_values.h"

namespace penstock {

StageWeights::StageWeights(std::span<const std::unique_ptr<Layer>> layers,
                           std::span<const std::string> freeze, DType computed)
    : computed_(computed) {
  std::deque<Parameter>& all = set_.declared().parameters;
  for (const auto& layer : layers) {
    const size_t first = all.size();
    layer->declare(set_);
    std::vector<Parameter*>& trained = trained_.emplace_back();
    for (size_t i = first; i < all.size(); ++i) {
      all[i].frozen = matches_any(all[i].name, freeze);
      if (!all[i].frozen) trained.push_back(&all[i]);
    }
  }
  table_.emplace(set_);
}

void StageWeights::allocate(uint64_t seed, Device& device, const IsDrawn& is_drawn) {
  allocate_values(seed, device, is_drawn);
  gradients_ = StageGradients(trained_, set_.declared(), device);
  for (Buffer& buffer : set_.declared().buffers) {
    buffer.value = device.empty(buffer.shape, DType::F32, Purpose::Parameters);
    device.pointwise().fill(buffer.value, buffer.initial);
  }
  table_->bind();
}

void StageWeights::allocate_values(uint64_t seed, Device& device, const IsDrawn& is_drawn) {
  values_ = lay_out_values(DType::F32, device);
  if (computed_ != DType::F32) (void)lay_out_values(computed_, device);
  for (const StateEntry* entry : state()) {
    if (!entry->is_parameter()) continue;
    Parameter& first = *entry->holders.front();
    if (!is_drawn || is_drawn(first.name)) fill_initial_values(first, seed, device);
    for (Parameter* holder : std::span(entry->holders).subspan(1)) {
      holder->weight = first.weight.shared();
    }
  }
}

// Makes a vector of zeros for all parameters that are kept in that type, and gives each parameter
// its part. Returns the vector, which is empty if there are no such parameters.
Tensor StageWeights::lay_out_values(DType type, Device& device) {
  std::vector<Parameter*> kept;
  int64_t elements = 0;
  for (const StateEntry* entry : state()) {
    if (!entry->is_parameter()) continue;
    Parameter& first = *entry->holders.front();
    if (first.kept_type(computed_) != type) continue;
    kept.push_back(&first);
    elements += with_padding(first.elements(), type);
  }
  if (kept.empty()) return {};
  Tensor values = device.zeros({elements}, type, Purpose::Parameters);
  int64_t at = 0;
  for (Parameter* parameter : kept) {
    parameter->weight = Weight(values.view(at, parameter->shape));
    at += with_padding(parameter->elements(), type);
  }
  return values;
}

void StageWeights::begin_reduction(WithPart start) {
  gradients_.begin_reduction(
      [this, start = std::move(start), next = size_t{0}](const Tensor& bucket) mutable {
        if (shared_.empty()) return start(bucket, {});
        for (const Part& part : shared_[next++]) start(part.gradients, part.cuts);
      });
}

std::vector<StageWeights::SharedValues> StageWeights::shared_values() const {
  std::vector<SharedValues> all;
  for (size_t bucket = shared_.size(); bucket-- > 0;) {
    for (const Part& part : shared_[bucket]) {
      if (!part.values) continue;
      all.push_back({gradients_.buckets()[bucket].first_layer, part.values, part.cuts});
    }
  }
  return all;
}

// Cuts gradients and weights into shares of the replicas. The step sums, which follow the layers'
// gradients, are not cut: all replicas need the whole of them.
void StageWeights::share(int replicas, int replica, const IsWhole& is_whole) {
  ShareCutter cutter(replicas);
  size_t last_layer = trained_.size();
  for (const GradientBuckets::Bucket& bucket : gradients_.buckets()) {
    const std::vector<Stretch> stretches =
        cutter.cut(places_of(bucket.first_layer, last_layer, is_whole));
    say_in_table(stretches, replica);
    std::vector<Part>& parts = shared_.emplace_back();
    for (const Stretch& stretch : stretches) {
      const Shape shape{stretch.elements};
      const bool held = stretch.value >= 0;
      parts.push_back({gradients_.all().view(stretch.gradient, shape),
                       held ? values_.view(stretch.value, shape) : Tensor(), stretch.cuts});
    }
    const Tensor step_sums = gradients_.step_sums();
    if (shared_.size() == 1 && step_sums.elements() > 0) {
      parts.push_back({step_sums, Tensor(), {}});
    }
    last_layer = bucket.first_layer;
  }
}

// Returns the places of the parameters that layers [first_layer, last_layer) train: where their
// gradients and weights lie.
std::vector<ParameterPlace> StageWeights::places_of(size_t first_layer, size_t last_layer,
                                                    const IsWhole& is_whole) {
  std::vector<ParameterPlace> places;
  for (size_t layer = first_layer; layer < last_layer; ++layer) {
    for (const Parameter* p : trained_[layer]) {
      places.push_back({.gradient = p->gradient.data<float>() - gradients_.all().data<float>(),
                        .value = p->first == nullptr
                                     ? p->weight.value().data<float>() - values_.data<float>()
                                     : -1,
                        .elements = p->elements(),
                        .room = with_padding(p->elements()),
                        .tied = p->tied || p->first != nullptr,
                        .whole = is_whole && is_whole(*p)});
    }
  }
  return places;
}

void StageWeights::say_in_table(const std::vector<Stretch>& stretches, int replica) {
  for (StateEntry* entry : state()) {
    if (!entry->gradient) continue;
    const int64_t at = entry->gradient.data<float>() - gradients_.all().data<float>();
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

}  // namespace penstock
