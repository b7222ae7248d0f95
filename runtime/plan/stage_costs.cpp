#include "runtime/plan/stage_costs.h"

#include <algorithm>

namespace penstock {
namespace {

using Layers = std::span<const LayerCost>;

// What the tape of layer l keeps when the tapes of the layers [first, l) are there too.
int64_t tape_of(Layers layers, size_t l, size_t first = 0) {
  return layers[l].tape_bytes + (l == first ? layers[l].shared_input_bytes : 0);
}

int64_t halves_of_all(Layers layers) {
  int64_t bytes = 0;
  for (const LayerCost& layer : layers) bytes += layer.weight_half_bytes;
  return bytes;
}

int64_t entering(Layers layers) {
  return layers.front().input_bytes;
}
int64_t leaving(Layers layers) {
  return layers.back().output_bytes;
}

// ---- verbs of a stage that keeps one tape, from its inputs or from data
MemoryStep forward_with_stash(Layers layers) {
  int64_t peak = layers.front().forward_peak_bytes - entering(layers);
  for (const LayerCost& layer : layers.subspan(1)) peak = std::max(peak, layer.forward_peak_bytes);
  return {leaving(layers), peak};
}

MemoryStep record(Layers layers) {
  int64_t peak = 0;
  int64_t kept = 0;
  for (size_t l = 0; l < layers.size(); ++l) {
    const int64_t counted = l == 0 ? 0 : layers[l].shared_input_bytes;  // in `kept` already
    peak = std::max(peak, kept + layers[l].record_peak_bytes - counted);
    kept += tape_of(layers, l);
  }
  return {kept - entering(layers), peak - entering(layers)};
}

// The tape has gone as far as the backward has come; half of it stays where halves are apart.
MemoryStep backward(Layers layers, bool input_half) {
  int64_t peak = 0;
  int64_t change = -leaving(layers);
  for (size_t l = layers.size(); l-- > 0;) {
    const LayerCost& layer = layers[l];
    peak = std::max(
        peak, change + (input_half ? layer.backward_input_peak_bytes : layer.backward_peak_bytes));
    change += (input_half ? layer.weight_half_bytes : 0) - tape_of(layers, l);
  }
  return {change + entering(layers), peak};
}

// ---- verbs of a stage that keeps the inputs of all its layers
MemoryStep forward_with_stashes(Layers layers) {
  int64_t peak = 0;
  int64_t kept = 0;
  for (const LayerCost& layer : layers) {
    peak = std::max(peak, kept + layer.forward_peak_bytes);
    kept += layer.input_bytes;
  }
  return {kept - entering(layers) + leaving(layers), peak - entering(layers)};
}

// From the last layer, which is on tape already, to the first: each is run again, then
// differentiated.
MemoryStep backward_layer_by_layer(Layers layers, bool input_half) {
  int64_t peak = 0;
  int64_t change = -leaving(layers);
  for (size_t l = layers.size(); l-- > 0;) {
    const LayerCost& layer = layers[l];
    if (l + 1 < layers.size()) {
      change -= layer.input_bytes;  // is in both peaks or on the tape
      peak = std::max(peak, change + layer.output_bytes + layer.record_peak_bytes);
      change += tape_of(layers, l, l);
    }
    peak = std::max(
        peak, change + (input_half ? layer.backward_input_peak_bytes : layer.backward_peak_bytes));
    change += (input_half ? layer.weight_half_bytes : 0) - tape_of(layers, l, l);
  }
  return {change + entering(layers), peak};
}

}  // namespace

StageTimes stage_times(Layers layers, const std::string& recompute) {
  StageTimes all{0, 0, 0, 0, 0};
  for (const LayerCost& layer : layers) {
    all.forward += layer.forward_s;
    all.backward_input += layer.backward_input_s;
    all.backward_weight += layer.backward_weight_s;
    all.backward += layer.backward_s;
  }
  all.recompute = recompute == "layer" ? layers.back().forward_s : all.forward;
  if (recompute == "layer") {
    all.backward += all.forward - all.recompute;
    all.backward_input += all.forward - all.recompute;
  }
  return all;
}

StageMemory stage_memory(Layers layers, const std::string& recompute) {
  const MemoryStep recorded = record(layers);
  StageMemory memory;
  memory.input_bytes = entering(layers);
  memory.backward_weight = {-halves_of_all(layers), 0};
  memory.forward_keep = {recorded.held + leaving(layers), recorded.peak};
  if (recompute == "layer") {
    const Layers last = layers.last(1);
    memory.forward = forward_with_stashes(layers);
    memory.recompute = record(last);
    memory.backward = backward_layer_by_layer(layers, false);
    memory.backward_input = backward_layer_by_layer(layers, true);
  } else {
    memory.forward = forward_with_stash(layers);
    memory.recompute = recorded;
    memory.backward = backward(layers, false);
    memory.backward_input = backward(layers, true);
  }
  return memory;
}

std::vector<ReduceBucket> gradient_buckets(Layers layers, const std::string& recompute, bool halves,
                                           double bucket_bytes) {
  std::vector<ReduceBucket> buckets;
  double done = 0;
  double bytes = 0;
  for (size_t l = layers.size(); l-- > 0;) {
    const LayerCost& layer = layers[l];
    bytes += static_cast<double>(layer.gradient_bytes);
    done += halves ? layer.backward_weight_s : layer.backward_s;
    const bool again = recompute == "layer" && !halves && l + 1 < layers.size();
    if (again) done += layer.forward_s;
    if (bytes < bucket_bytes && l > 0) continue;
    if (bytes > 0) buckets.push_back({done, bytes});
    bytes = 0;
  }
  for (ReduceBucket& bucket : buckets) {
    bucket.ready = done > 0 ? std::min(1.0, bucket.ready / done) : 1.0;
  }
  return buckets;
}

}  // namespace penstock
