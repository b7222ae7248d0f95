#include "runtime/planning/costs/layer_costs.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <unordered_map>
#include <vector>

#include "kernels/counting/counting_device.h"
#include "kernels/ops/pointwise.h"
#include "runtime/network/autograd/name_patterns.h"
#include "runtime/network/layers/skip.h"
#include "runtime/network/stage/gradient_buckets.h"
#include "runtime/planning/costs/kept_once.h"
#include "runtime/planning/costs/layer_probe.h"
#include "runtime/planning/plan/stages/stage_costs.h"

namespace penstock {
namespace {

static_assert(kBucketBytes == GradientBuckets::kBucketBytes,
              "plans must know the buckets in which the engine sums gradients");

// What oneDNN takes besides the blocks of linear layers that the counting device counts.
constexpr int64_t kLibraryBytes = int64_t{128} << 10;

using Clock = std::chrono::steady_clock;

// This is what a probe of a layer found. It holds for all layers that are like that layer.
struct Found {
  ProbeMemory memory;
  ProbeTimes times;
};
using Measure = std::function<ProbeTimes(LayerProbe& probe)>;

struct Walk {
  const Sequential& model;
  ProbeSetup setup;
  Device& device;
  Measure measure;
  std::function<void()> before_layer = {};
};

std::string text(const Shapes& shapes) {
  std::string all;
  for (const Shape& shape : shapes) all += shape.text();
  return all;
}

// Returns a text that is the same for layers that do the same. It tells their kind, what enters
// them, what they train, and how many operations a forward and a backward take.
std::string signature(const std::unique_ptr<Layer>& layer, const Shapes& inputs, ProbePlace place,
                      const ProbeSetup& setup, const DeviceModel& device) {
  std::string all = layer->kind() + (place.first ? " data" : "") +
                    (place.wanted ? " " : " unwanted ") + text(inputs);
  {
    ParameterSet set;
    layer->declare(set);
    for (const Parameter& parameter : set.declared().parameters) {
      const bool frozen = matches_any(parameter.name, setup.optimizer.freeze);
      const bool whole = is_updated_whole(parameter, setup.optimizer);
      all += (frozen ? " frozen" : whole ? " whole" : " ") + parameter.shape.text();
    }
  }
  const auto counting = make_counting_device(device);
  LayerProbe(layer, inputs, place, setup, *counting).run();
  const OpCount& count = counting->count();
  return all + ' ' + std::to_string(count.ops) + ' ' + std::to_string(count.flops) + ' ' +
         std::to_string(count.bytes);
}

int64_t bytes_of(const Shapes& shapes, DType dtype) {
  int64_t bytes = 0;
  for (const Shape& shape : shapes)
    bytes += shape.elements() * static_cast<int64_t>(size_of(dtype));
  return bytes;
}

LayerCost cost_of(const Layer& layer, const Found& found) {
  const ProbeTimes& t = found.times;
  const ProbeMemory& m = found.memory;
  LayerCost cost;
  cost.name = layer.name();
  cost.kind = layer.kind();
  cost.forward_s = t.forward.seconds;
  cost.backward_input_s = t.backward_input.seconds;
  cost.backward_weight_s = t.backward_weight.seconds;
  cost.backward_s = t.backward.seconds;
  cost.forward_flops = t.forward.flops;
  cost.update_s = t.update_s + std::max(0.0, t.copies_s);
  cost.forward_peak_bytes = m.forward_peak;
  cost.record_peak_bytes = m.record_peak;
  cost.backward_peak_bytes = m.backward_peak;
  cost.backward_input_peak_bytes = m.backward_input_peak;
  cost.parameter_bytes = m.parameters;
  cost.gradient_bytes = m.gradients;
  cost.optimizer_bytes = m.optimizer;
  cost.whole_bytes = m.whole;
  cost.update_scratch_bytes = m.update_scratch;
  cost.workspace_bytes = m.workspace;
  cost.saved_weight_bytes = m.saved_weights;
  cost.saved_state_bytes = m.saved_states;
  return cost;
}

// Returns how many parameters the layer adds to those of the layers before it. A tied parameter
// counts at the first layer that holds it.
int64_t count_parameters(const Layer& layer, ParameterSet& all) {
  const size_t before = all.declared().parameters.size();
  layer.declare(all);
  return all.declared().elements(before);
}

// Takes out of what a checkpoint has of the layer the parameters that an earlier layer has saved.
void leave_out_tied(const Layer& layer, LayerCost& cost) {
  ParameterSet own;
  const int64_t elements = count_parameters(layer, own);
  if (elements == cost.parameters || elements == 0) return;
  const double share = static_cast<double>(cost.parameters) / static_cast<double>(elements);
  for (int64_t* bytes : {&cost.saved_weight_bytes, &cost.saved_state_bytes}) {
    *bytes = std::llround(share * static_cast<double>(*bytes));
  }
}

Found probe(const Walk& walk, const std::unique_ptr<Layer>& layer, const Shapes& inputs,
            ProbePlace place) {
  if (walk.before_layer) walk.before_layer();
  LayerProbe probe(layer, inputs, place, walk.setup, walk.device);
  Found found;
  found.memory = probe.memory();
  found.times = walk.measure(probe);
  return found;
}

ModelCosts walk_layers(const Walk& walk) {
  ModelCosts costs;
  costs.device = walk.device.description();
  costs.own_memory = walk.device.model().own_memory;
  costs.library_bytes = costs.own_memory ? 0 : kLibraryBytes;
  costs.micro_batch_size = walk.setup.micro_batches.size;
  std::unordered_map<std::string, Found> known;
  ShapeWalk shapes(Shapes{with_batch(walk.setup.micro_batches.size, walk.setup.input.shape)});
  // `tape` counts the bytes of the tape, `half` the bytes that stay between the halves of a
  // backward.
  KeptOnce tape({bytes_of(shapes.between(), walk.setup.input.dtype)});
  KeptOnce half({bytes_of(shapes.between(), walk.setup.input.dtype)});
  const std::vector<std::string>& freeze = walk.setup.optimizer.freeze;
  ParameterSet all;
  bool data = true;      // whether the data, or a view of them, enter: they have no gradient
  bool trained = false;  // whether a layer before this one is trained
  const DeviceModel device = walk.device.model();
  for (const auto& layer : walk.model.layers) {
    const int64_t input_bytes = bytes_of(shapes.between(), walk.setup.dtype);
    const Shapes inputs = shapes.next(*layer);
    const ProbePlace place{.first = data, .wanted = freeze.empty() ? !data : trained};
    const std::string key = signature(layer, inputs, place, walk.setup, device);
    auto found = known.find(key);
    if (found == known.end()) found = known.emplace(key, probe(walk, layer, inputs, place)).first;
    trained = trained || trains(*layer, freeze);
    LayerCost cost = cost_of(*layer, found->second);
    cost.parameters = count_parameters(*layer, all);
    leave_out_tied(*layer, cost);
    cost.differentiated = freeze.empty() || trained;
    if (device.own_memory) cost.reads = fields_of(*layer, costs.layers.empty(), walk.setup);
    cost.input_bytes = costs.layers.empty() ? 0 : input_bytes;
    cost.output_bytes = bytes_of(shapes.between(), walk.setup.dtype);
    const ProbeMemory& memory = found->second.memory;
    data = data && std::all_of(memory.view_of.begin(), memory.view_of.end(),
                               [](int input) { return input >= 0; });
    const KeptOnce::Share on_tape = tape.next(*layer, memory.tape, memory.view_of);
    cost.tape_bytes = on_tape.own;
    cost.shared_input_bytes = on_tape.shared;
    cost.weight_half_bytes = half.next(*layer, memory.half, memory.view_of).own;
    costs.layers.push_back(std::move(cost));
  }
  for (const SkipPath& skip : find_skips(walk.model.layers)) {
    costs.skips.push_back({static_cast<int>(skip.from_layer), static_cast<int>(skip.to_layer),
                           bytes_of({shapes.skipped(skip.name)}, walk.setup.dtype)});
  }
  return costs;
}

Meter count_of(const CountingDevice& device) {
  return [&device] {
    const OpCount& count = device.count();
    return Reading{count.seconds, count.flops};
  };
}

// Returns the times that the model of the device gives. In training a loss may be computed in the
// backward, and its forward is no work: its FLOPs are those of an evaluation.
ProbeTimes counted_times(LayerProbe& probe, const Meter& meter) {
  ProbeTimes times = probe.times(meter, {});
  const double before = meter().flops;
  probe.evaluate();
  times.forward.flops = std::max(times.forward.flops, meter().flops - before);
  return times;
}

Meter clock_of(Device& device) {
  return [clock = std::shared_ptr<DeviceClock>(device.make_clock(1))] {
    clock->mark(0);
    return Reading{clock->seconds(0), 0};
  };
}

double quantile(std::vector<double> values, double q) {
  const auto at = static_cast<std::ptrdiff_t>(q * static_cast<double>(values.size() - 1));
  std::nth_element(values.begin(), values.begin() + at, values.end());
  return values[static_cast<size_t>(at)];
}

// Returns typical times. Other processes only ever add to a time, so the lower quartile of a time
// is typical. A difference of two times errs in both directions, so the median of a difference is
// typical.
ProbeTimes typical(const std::vector<ProbeTimes>& all) {
  const auto of = [&](double q, const auto& part) {
    std::vector<double> values;
    values.reserve(all.size());
    for (const ProbeTimes& times : all) values.push_back(part(times));
    return quantile(std::move(values), q);
  };
  constexpr double kTime = 0.25;
  constexpr double kDifference = 0.5;
  ProbeTimes times;
  times.forward.seconds = of(kTime, [](const auto& t) { return t.forward.seconds; });
  times.backward.seconds = of(kTime, [](const auto& t) { return t.backward.seconds; });
  times.backward_input.seconds = of(kTime, [](const auto& t) { return t.backward_input.seconds; });
  times.backward_weight.seconds =
      of(kTime, [](const auto& t) { return t.backward_weight.seconds; });
  times.update_s = of(kDifference, [](const auto& t) { return t.update_s; });
  times.copies_s = of(kDifference, [](const auto& t) { return t.copies_s; });
  return times;
}

// Runs the probe at least three times and returns typical times. It goes on, for at most two
// seconds, until there are five runs that took `least_s` seconds together.
ProbeTimes repeat(LayerProbe& probe, const Meter& meter, const std::function<void()>& chill,
                  double least_s) {
  constexpr double kLong = 2.0;
  std::vector<ProbeTimes> all;
  const double start = meter().seconds;
  double taken = 0;
  while (all.size() < 3 || (taken < kLong && (all.size() < 5 || taken < least_s))) {
    all.push_back(probe.times(meter, chill));
    taken = meter().seconds - start;
  }
  return typical(all);
}

// Returns how many bytes a step touches before the same layer runs again: the data of the other
// layers, which are in the caches by then. It returns at most 64 MiB, since that pushes a layer's
// data out of most caches.
int64_t swept_bytes(const ModelCosts& costs) {
  constexpr int64_t kLeast = int64_t{1} << 20;
  constexpr int64_t kMost = int64_t{64} << 20;
  int64_t bytes = 0;
  for (const LayerCost& layer : costs.layers) {
    bytes += layer.tape_bytes + layer.parameter_bytes + layer.workspace_bytes;
  }
  return std::clamp(bytes / 64 * 64, kLeast, kMost);
}

}  // namespace

ModelCosts counted_costs(const Sequential& model, const ModelInput& input,
                         MicroBatches micro_batches, DType dtype, const OptimizerConfig& optimizer,
                         const DeviceModel& device) {
  const auto counting = make_counting_device(device);
  const Meter meter = count_of(*counting);
  return walk_layers(
      {.model = model,
       .setup = {input, micro_batches, dtype, optimizer},
       .device = *counting,
       .measure = [&meter](LayerProbe& probe) { return counted_times(probe, meter); }});
}

ModelCosts measured_costs(const Sequential& model, const ModelInput& input,
                          int64_t micro_batch_size, DType dtype, const OptimizerConfig& optimizer,
                          Device& device, const std::function<void()>& before_layer,
                          double least_s) {
  const ModelCosts counted =
      counted_costs(model, input, {micro_batch_size}, dtype, optimizer, device.model());
  Tensor swept = device.empty({swept_bytes(counted) / 4}, DType::F32, Purpose::Workspace);
  const Meter meter = clock_of(device);
  ModelCosts costs =
      walk_layers({.model = model,
                   .setup = {input, {micro_batch_size}, dtype, optimizer},
                   .device = device,
                   .measure =
                       [&](LayerProbe& probe) {
                         const auto chill = [&] { device.pointwise().fill(swept, 0.0F); };
                         return repeat(probe, meter, chill, least_s);
                       },
                   .before_layer = before_layer});
  for (size_t i = 0; i < costs.layers.size(); ++i) {
    costs.layers[i].forward_flops = counted.layers[i].forward_flops;
  }
  return costs;
}

}  // namespace penstock
