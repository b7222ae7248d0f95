#include "runtime/engine/training/checkpoints/saver.h"

#include <utility>

namespace penstock {

Saver::Saver(const Config& config, std::string run_file, std::string run, Pipeline& pipeline,
             const Station& station)
    : config_(config),
      run_file_(std::move(run_file)),
      run_(std::move(run)),
      pipeline_(&pipeline),
      network_(station.network) {}

void Saver::serve(Pipeline& pipeline, std::string run_file) {
  pipeline_ = &pipeline;
  run_file_ = std::move(run_file);
}

CheckpointRequest Saver::request(const Progress& progress) {
  pipeline_->await_weights();
  CheckpointRequest request;
  add_tensors(request);
  request.replica = network_.replicas().rank();
  request.replicas = network_.replicas().size();
  request.between_replicas = &network_.replicas();
  request.root = config_.run.out + "/checkpoints";
  request.retention = {.keep = config_.checkpoint.keep,
                       .keep_every = config_.checkpoint.keep_every,
                       .audited = audited_,
                       .best = config_.checkpoint.best != "none"};
  request.state = state(progress);
  return request;
}

CheckpointState Saver::state(const Progress& progress) const {
  const PipelineConfig& pipeline = config_.pipeline;
  CheckpointState state;
  state.step = progress.step;
  state.seed = config_.run.seed;
  state.mini_batch = pipeline.micro_batch_size * pipeline.micro_batches * pipeline.replicas;
  state.consumed_samples = progress.consumed_samples;
  state.optimizer_steps = progress.optimizer_steps;
  state.training_samples = progress.training_samples;
  state.training_content = progress.training_content;
  state.owes_evaluation = progress.owes_evaluation;
  state.loss = progress.loss;
  if (config_.checkpoint.best != "none") {
    state.best_metric = config_.checkpoint.best;
    state.best = progress.best;
  }
  state.version = PENSTOCK_VERSION;
  state.configuration = run_file_;
  state.run = run_;
  const Blueprint& blueprint = pipeline_->blueprint();
  for (size_t i = 0; i < blueprint.model.layers.size(); ++i) {
    const Layer& layer = *blueprint.model.layers[i];
    state.layers.push_back({layer.name(), layer.kind(), blueprint.layout.parameters[i]});
  }
  return state;
}

// Adds the weights and what is kept beside them. Only the owner of a tied parameter adds it: the
// other holders have the same bits.
void Saver::add_tensors(CheckpointRequest& request) const {
  const Layout& layout = pipeline_->blueprint().layout;
  for (const StateEntry* entry : pipeline_->state()) {
    if (!entry->owned) continue;
    const auto layer = static_cast<int64_t>(layout.named[entry->place].layer);
    request.model.push_back({{entry->name, entry->value}, layer});
    for (KeptBeside& kept : kept_beside(*entry)) {
      request.optimizer.push_back({{std::move(kept.name), std::move(kept.tensor)},
                                   layer,
                                   kept.shape,
                                   std::move(kept.cuts)});
    }
  }
}

}  // namespace penstock
