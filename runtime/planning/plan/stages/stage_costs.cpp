// Sums over the layers of a stage, verb by verb.
#include "runtime/planning/plan/stages/stage_costs.h"

#include <algorithm>
#include <stdexcept>

#include "runtime/planning/partition/partition.h"

namespace penstock {
namespace {

using Layers = std::span<const LayerCost>;

// The bytes that the tape of layer l keeps when the tapes of the layers [first, l) are there too.
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

// ---- layers that are never differentiated: they come first, and leave nothing but their outputs
size_t undifferentiated(Layers layers) {
  size_t count = 0;
  while (count < layers.size() && !layers[count].differentiated) ++count;
  return count;
}

// The layers in mode layer are segments of their own, whose inputs go at once; else inputs stay
// until the last layer is done.
MemoryStep pass_through(Layers layers, bool one_by_one) {
  if (layers.empty()) return {};
  int64_t peak = layers.front().forward_peak_bytes;
  for (const LayerCost& layer : layers.subspan(1)) {
    peak = std::max(peak, layer.forward_peak_bytes + (one_by_one ? 0 : entering(layers)));
  }
  return {leaving(layers) - entering(layers), peak - entering(layers)};
}

// The memory step of `first`, followed by `second`.
MemoryStep then(const MemoryStep& first, const MemoryStep& second) {
  return {first.held + second.held, std::max(first.peak, first.held + second.peak)};
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

// A backward frees the tape layer by layer; where it is the input half only, what the weight half
// of each layer needs stays.
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

// Goes from the last layer, which is on tape already, to the first: each is run again, then
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

StageLayers stage_layers(const Arrangement& candidate, const ModelCosts& costs) {
  if (costs.micro_batch_size != candidate.micro_batch_size) {
    throw std::invalid_argument("these are the costs of micro-batches of " +
                                std::to_string(costs.micro_batch_size) + " samples, not of " +
                                std::to_string(candidate.micro_batch_size));
  }
  const std::vector<int64_t> given(candidate.split.begin(), candidate.split.end());
  (void)check_split(given, static_cast<int>(costs.layers.size()), candidate.stages);
  StageLayers stages;
  Layers rest(costs.layers);
  for (const int layers : candidate.split) {
    stages.push_back(rest.first(layers));
    rest = rest.subspan(layers);
  }
  return stages;
}

StageTimes stage_times(Layers layers, const std::string& recompute) {
  StageTimes all{0, 0, 0, 0, 0};
  double again = 0;  // the forward of what is differentiated
  for (const LayerCost& layer : layers) {
    all.forward += layer.forward_s;
    again += layer.differentiated ? layer.forward_s : 0;
    all.backward_input += layer.backward_input_s;
    all.backward_weight += layer.backward_weight_s;
    all.backward += layer.backward_s;
  }
  all.recompute = again;
  if (recompute == "layer") {
    all.recompute = layers.back().differentiated ? layers.back().forward_s : 0;
    all.backward += again - all.recompute;
    all.backward_input += again - all.recompute;
  }
  return all;
}

StageMemory stage_memory(Layers layers, const std::string& recompute) {
  const bool one_by_one = recompute == "layer";
  const size_t passed = undifferentiated(layers);
  const MemoryStep before = pass_through(layers.first(passed), one_by_one);
  const Layers trained = layers.subspan(passed);
  StageMemory memory;
  memory.input_bytes = entering(layers);
  if (trained.empty()) {  // its gradients are dropped, and zeros sent
    memory.forward = memory.forward_keep = before;
    memory.backward = memory.backward_input = {entering(layers) - leaving(layers), 0};
    return memory;
  }
  const MemoryStep recorded = record(trained);
  memory.backward_weight = {-halves_of_all(trained), 0};
  memory.forward_keep = then(before, {recorded.held + leaving(trained), recorded.peak});
  memory.recompute = one_by_one ? record(trained.last(1)) : recorded;
  if (one_by_one) {
    memory.forward = then(before, forward_with_stashes(trained));
    memory.backward = backward_layer_by_layer(trained, false);
    memory.backward_input = backward_layer_by_layer(trained, true);
  } else {
    memory.forward = then(before, forward_with_stash(trained));
    memory.backward = backward(trained, false);
    memory.backward_input = backward(trained, true);
  }
  // The tuple that leaves is as large as the one that came in, not as the one that enters the first
  // trained layer.
  const int64_t difference = entering(layers) - entering(trained);
  memory.backward.held += difference;
  memory.backward_input.held += difference;
  return memory;
}

StageMemory evaluation_memory(Layers layers, const std::string& recompute) {
  StageMemory memory;
  memory.input_bytes = entering(layers);
  memory.forward_keep = pass_through(layers, recompute == "layer");
  return memory;
}

int64_t updated_bytes(const LayerCost& layer, const Arrangement& candidate) {
  return layer.optimizer_bytes + undo_bytes(layer, candidate);
}

int64_t undo_bytes(const LayerCost& layer, const Arrangement& candidate) {
  return candidate.barrier ? 0 : layer.optimizer_bytes + layer.gradient_bytes;
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
    const bool again =
        recompute == "layer" && !halves && l + 1 < layers.size() && layer.differentiated;
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
