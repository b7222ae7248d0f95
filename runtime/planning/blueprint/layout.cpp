#include "runtime/planning/blueprint/layout.h"

#include <algorithm>
#include <numeric>
#include <stdexcept>

#include "kernels/philox.h"
#include "runtime/network/autograd/name_patterns.h"
#include "runtime/planning/blueprint/plan_request.h"
#include "runtime/planning/costs/countable.h"
#include "runtime/planning/costs/layer_costs.h"
#include "runtime/planning/partition/partition.h"
#include "runtime/planning/plan/split.h"
#include "runtime/planning/plan/stages/stage_skips.h"

namespace penstock {
namespace {

Shapes input_shapes(const ModelInput& input, int64_t batch) {
  std::vector<int64_t> extents = {batch};
  extents.insert(extents.end(), input.shape.extents().begin(), input.shape.extents().end());
  return {Shape(std::span<const int64_t>(extents))};
}

// Balances by a model of no machine in particular: all ranks must split alike, on whatever they
// run.
std::vector<int> balanced(const Sequential& model, const ModelInput& input, const Config& config,
                          const Schedule& training) {
  const Arrangement candidate = arrangement_of(config.pipeline);
  const ModelCosts counted = countable(
      counted_costs(model, input, candidate.cut(), DType::F32, config.optimizer, cpu_model({})),
      candidate.micro_batches);
  const Cluster like_ranks_without_limits;
  return choose_split(candidate, training, counted, like_ranks_without_limits).split;
}

void note_tie(const Parameter& parameter, size_t layer, std::vector<LayerTie>& ties) {
  auto tie = std::find_if(ties.begin(), ties.end(),
                          [&](const LayerTie& known) { return known.name == parameter.name; });
  if (tie == ties.end()) tie = ties.insert(ties.end(), {parameter.name, parameter.shape, {}});
  tie->layers.push_back(layer);
  tie->frozen = parameter.frozen;
}

// The layer that declared each parameter and each buffer.
struct DeclaredBy {
  std::vector<size_t> parameters, buffers;
};

// Refuses readers that differ: the parameter's type would depend on the layers that share its
// stage.
void check_readers(const Parameter& parameter) {
  const bool alike = !parameter.frozen || parameter.first == nullptr ||
                     parameter.first->only_rounded == parameter.only_rounded;
  if (alike) return;
  fail_input("the shared parameter '" + parameter.name +
             "' is rounded before it is read by one layer and not by another: their "
             "Parameter::only_rounded must be the same");
}

// Lists the tensors of all layers, once these are declared, and which of them are frozen.
void list_tensors(const Declared& all, const DeclaredBy& layers, Layout& layout) {
  for (size_t i = 0; i < all.parameters.size(); ++i) {
    const Parameter& parameter = all.parameters[i];
    if (parameter.first != nullptr) continue;
    layout.named.push_back(
        {parameter.name, parameter.shape, true, parameter.frozen, layers.parameters[i]});
  }
  for (size_t i = 0; i < all.buffers.size(); ++i) {
    const Buffer& buffer = all.buffers[i];
    layout.named.push_back({buffer.name, buffer.shape, false, false, layers.buffers[i]});
  }
}

void check_patterns(const Layout& layout, const OptimizerConfig& optimizer) {
  std::vector<std::string> names;
  bool trained = false;
  for (const NetworkTensor& tensor : layout.named) {
    if (!tensor.parameter) continue;
    names.push_back(tensor.name);
    trained = trained || !tensor.frozen;
  }
  refuse_unmatched("optimizer.freeze", optimizer.freeze, names);
  if (!trained && !optimizer.freeze.empty()) {
    fail_input("optimizer.freeze leaves nothing to train");
  }
  const bool chosen = optimizer.adamw_for != OptimizerConfig{}.adamw_for;
  if (optimizer.kind == "muon" && chosen) {
    refuse_unmatched("optimizer.adamw_for", optimizer.adamw_for, names);
  }
}

void count_parameters(const Sequential& model, const OptimizerConfig& optimizer, Layout& layout) {
  const std::vector<std::string>& freeze = optimizer.freeze;
  layout.first_trained = freeze.empty() ? 0 : model.layers.size();
  DeclaredBy layers;
  ParameterSet all;  // one set for all layers: names must not repeat, unless they are shared
  for (size_t layer = 0; layer < model.layers.size(); ++layer) {
    const size_t first = all.declared().parameters.size();
    model.layers[layer]->declare(all);
    layout.parameters.push_back(all.declared().elements(first));
    layers.parameters.resize(all.declared().parameters.size(), layer);
    layers.buffers.resize(all.declared().buffers.size(), layer);
    for (size_t i = first; i < all.declared().parameters.size(); ++i) {
      Parameter& parameter = all.declared().parameters[i];
      parameter.frozen = matches_any(parameter.name, freeze);
      check_readers(parameter);
      if (!parameter.frozen) layout.first_trained = std::min(layout.first_trained, layer);
      if (parameter.tied) note_tie(parameter, layer, layout.ties);
    }
  }
  list_tensors(all.declared(), layers, layout);
  check_patterns(layout, optimizer);
  std::erase_if(layout.ties, [](const LayerTie& tie) { return tie.layers.size() == 1; });
}

}  // namespace

int64_t Layout::total_parameters() const {
  return std::accumulate(parameters.begin(), parameters.end(), int64_t{0});
}

int64_t Layout::parameters_kept(int stage) const {
  const size_t first = first_layer[static_cast<size_t>(stage)];
  const size_t end = first_layer[static_cast<size_t>(stage) + 1];
  int64_t kept = 0;
  for (size_t layer = first; layer < end; ++layer) kept += parameters[layer];
  for (const LayerTie& tie : ties) {
    const bool counted = tie.layers.front() >= first;  // at its first holder, or of no layer here
    const bool held = std::any_of(tie.layers.begin(), tie.layers.end(),
                                  [&](size_t layer) { return layer >= first && layer < end; });
    if (held && !counted) kept += tie.shape.elements();
  }
  return kept;
}

int64_t Layout::frozen_parameters() const {
  int64_t total = 0;
  for (const NetworkTensor& tensor : named) total += tensor.frozen ? tensor.shape.elements() : 0;
  return total;
}

size_t Layout::untrained(int stage) const {
  const size_t first = first_layer[static_cast<size_t>(stage)];
  const size_t last = first_layer[static_cast<size_t>(stage) + 1];
  return std::clamp(first_trained, first, last) - first;
}

std::vector<int> Layout::split() const {
  std::vector<int> layers;
  for (size_t s = 0; s + 1 < first_layer.size(); ++s) {
    layers.push_back(static_cast<int>(first_layer[s + 1] - first_layer[s]));
  }
  return layers;
}

Layout lay_out(const Sequential& model, const ModelInput& input, const Config& config,
               const Schedule& training) {
  const PipelineConfig& pipeline = config.pipeline;
  Layout layout;
  layout.stages = pipeline.stages;
  count_parameters(model, config.optimizer, layout);
  layout.skips = find_skips(model.layers);
  const int layers = static_cast<int>(model.layers.size());
  std::vector<int> counts;
  try {
    counts = pipeline.split.empty() ? balanced(model, input, config, training)
                                    : check_split(pipeline.split, layers, pipeline.stages);
  } catch (const std::invalid_argument& refusal) {
    fail_input(refusal.what());
  }
  layout.first_layer.push_back(0);
  for (int count : counts) {
    layout.first_layer.push_back(layout.first_layer.back() + static_cast<size_t>(count));
  }
  return layout;
}

int Layout::stage_of(size_t layer) const {
  const auto after = std::upper_bound(first_layer.begin(), first_layer.end(), layer);
  return static_cast<int>(after - first_layer.begin()) - 1;
}

std::vector<Skip> Layout::stage_skips() const {
  std::vector<LayerSkip> of_layers;
  for (const SkipPath& path : skips) {
    of_layers.push_back({static_cast<int>(path.from_layer), static_cast<int>(path.to_layer)});
  }
  return penstock::stage_skips(split(), of_layers);
}

Traffic traffic(const Sequential& model, const Layout& layout, const ModelInput& input,
                int64_t batch, DType dtype) {
  Traffic traffic;
  traffic.first_trained = layout.stage_of(layout.first_trained);
  ShapeWalk walk(input_shapes(input, batch));
  for (int stage = 0; stage < layout.stages; ++stage) {
    std::vector<TensorSpec>& entering = traffic.boundaries.emplace_back();
    for (const Shape& shape : walk.between()) {
      entering.push_back({shape, stage == 0 ? input.dtype : dtype});
    }
    for (const auto& layer : layout.layers_of(model, stage)) walk.next(*layer);
  }
  for (const SkipPath& path : layout.skips) {
    const int from = layout.stage_of(path.from_layer);
    const int to = layout.stage_of(path.to_layer);
    if (from == to) continue;
    traffic.skips.push_back({from, to, path.to_layer, {walk.skipped(path.name), dtype}});
  }
  return traffic;
}

uint64_t fingerprint(const Sequential& model, const Layout& layout, const Traffic& traffic) {
  std::string text;
  for (size_t i = 0; i < model.layers.size(); ++i) {
    text += model.layers[i]->name() + ' ' + model.layers[i]->kind() + ' ' +
            std::to_string(layout.parameters[i]) + '\n';
  }
  for (size_t first : layout.first_layer) text += std::to_string(first) + ' ';
  for (const auto& specs : traffic.boundaries) {
    for (const TensorSpec& spec : specs) text += spec.shape.text() + name_of(spec.dtype);
  }
  for (const SkipRoute& skip : traffic.skips) {
    text += std::to_string(skip.from) + '>' + std::to_string(skip.to) + skip.spec.shape.text();
  }
  return hash_name(text);
}

void check_model(const ModelConfig& section, const Sequential& model, const ModelInput& input,
                 int64_t batch) {
  naming_section(section, [&] {
    if (model.layers.empty()) fail_input("the network has no layers");
    (void)find_skips(model.layers);
    ShapeWalk walk(input_shapes(input, batch));
    for (const auto& layer : model.layers) walk.next(*layer);
    if (!walk.between().empty()) {
      fail_input("the network ends in '" + model.layers.back()->name() +
                 "', which is no loss: add a classifier");
    }
  });
}

}  // namespace penstock
