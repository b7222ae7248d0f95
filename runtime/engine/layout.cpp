#include "runtime/engine/layout.h"

#include <numeric>
#include <stdexcept>

#include "kernels/philox.h"
#include "runtime/engine/layer_costs.h"
#include "runtime/partition/partition.h"
#include "runtime/schedule/generators.h"

namespace penstock {
namespace {

Shapes input_shapes(const ModelInput& input, int64_t batch) {
  std::vector<int64_t> extents = {batch};
  extents.insert(extents.end(), input.shape.extents().begin(), input.shape.extents().end());
  return {Shape(std::span<const int64_t>(extents))};
}

// By layer: seconds of a step, counted for a processor. Only the balance between layers of many
// FLOPs and layers of many parameters hangs on which.
std::vector<double> step_costs(const Sequential& model, const ModelInput& input,
                               const PipelineConfig& pipeline) {
  const double forwards = pipeline.recompute == "none" ? 1.0 : 2.0;
  const ModelCosts counted = counted_costs(model, input, pipeline.micro_batch_size, DType::F32, {},
                                           device_model_named("cpu"));
  std::vector<double> costs;
  for (const LayerCost& layer : counted.layers) {
    const double passes = forwards * layer.forward_s + layer.backward_s;
    costs.push_back(pipeline.micro_batches * passes + layer.update_s);
  }
  return costs;
}

void count_parameters(const Sequential& model, Layout& layout) {
  ParameterSet all;  // one set for all layers: names must not repeat
  for (const auto& layer : model.layers) {
    const size_t tensors = all.parameters().size();
    layer->declare(all);
    layout.tensors.push_back(all.parameters().size() - tensors);
    layout.parameters.push_back(0);
    for (size_t i = tensors; i < all.parameters().size(); ++i) {
      layout.parameters.back() += all.parameters()[i].elements();
    }
  }
}

}  // namespace

int64_t Layout::total_parameters() const {
  return std::accumulate(parameters.begin(), parameters.end(), int64_t{0});
}

size_t Layout::tensors_before(int stage) const {
  const auto end =
      tensors.begin() + static_cast<ptrdiff_t>(first_layer[static_cast<size_t>(stage)]);
  return std::accumulate(tensors.begin(), end, size_t{0});
}

int ranks_per_pipeline(const PipelineConfig& pipeline) {
  try {
    const int chunks = pipeline.chunks > 0 ? pipeline.chunks : default_chunks(pipeline.schedule);
    if (pipeline.stages % chunks != 0) {
      fail_input("pipeline.stages is " + std::to_string(pipeline.stages) +
                 ", but with the schedule " + pipeline.schedule + " every rank holds " +
                 std::to_string(chunks) + " stages: take a multiple");
    }
    return pipeline.stages / chunks;
  } catch (const std::invalid_argument& refusal) {
    fail_input(refusal.what());
  }
}

Layout lay_out(const Sequential& model, const ModelInput& input, const PipelineConfig& pipeline) {
  Layout layout;
  layout.stages = pipeline.stages;
  count_parameters(model, layout);
  const int layers = static_cast<int>(model.layers.size());
  std::vector<int> counts;
  try {
    counts = pipeline.split.empty() ? balance(step_costs(model, input, pipeline), pipeline.stages)
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

std::vector<std::vector<TensorSpec>> boundaries(const Sequential& model, const Layout& layout,
                                                const ModelInput& input, int64_t batch,
                                                DType dtype) {
  std::vector<std::vector<TensorSpec>> specs;
  Shapes shapes = input_shapes(input, batch);
  for (int stage = 0; stage < layout.stages; ++stage) {
    std::vector<TensorSpec>& entering = specs.emplace_back();
    for (const Shape& shape : shapes) {
      entering.push_back({shape, stage == 0 ? input.dtype : dtype});
    }
    for (const auto& layer : layout.layers_of(model, stage)) shapes = layer->infer(shapes);
  }
  return specs;
}

uint64_t fingerprint(const Sequential& model, const Layout& layout,
                     const std::vector<std::vector<TensorSpec>>& boundaries) {
  std::string text;
  for (size_t i = 0; i < model.layers.size(); ++i) {
    text += model.layers[i]->name() + ' ' + model.layers[i]->kind() + ' ' +
            std::to_string(layout.parameters[i]) + '\n';
  }
  for (size_t first : layout.first_layer) text += std::to_string(first) + ' ';
  for (const auto& specs : boundaries) {
    for (const TensorSpec& spec : specs) text += spec.shape.text() + name_of(spec.dtype);
  }
  return hash_name(text);
}

void check_model(const Sequential& model, const ModelInput& input, int64_t batch) {
  if (model.layers.empty()) fail_input("the network has no layers");
  Shapes shapes = input_shapes(input, batch);
  for (const auto& layer : model.layers) shapes = layer->infer(shapes);
  if (!shapes.empty()) {
    fail_input("the network ends in '" + model.layers.back()->name() +
               "', which is no loss: add a classifier");
  }
}

}  // namespace penstock
