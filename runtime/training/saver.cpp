#include "runtime/training/saver.h"

#include <unordered_set>

namespace penstock {

Saver::Saver(const Config& config, std::string run_file, std::string run, const Pipeline& pipeline,
             const Station& station)
    : config_(config),
      run_file_(std::move(run_file)),
      run_(std::move(run)),
      pipeline_(pipeline),
      network_(station.network) {
  for (const NetworkTensor& tensor : pipeline.layout().named) {
    layers_[tensor.name] = static_cast<int64_t>(tensor.layer);
  }
}

CheckpointRequest Saver::request(const std::vector<StateTensor>& state, int64_t step) const {
  const PipelineConfig& pipeline = config_.pipeline;
  CheckpointRequest request;
  add_tensors(state, request);
  request.replica = network_.replicas().rank();
  request.replicas = network_.replicas().size();
  request.root = config_.run.out + "/checkpoints";
  request.retention = {config_.checkpoint.keep, config_.checkpoint.keep_every};
  request.state.step = step;
  request.state.seed = config_.run.seed;
  request.state.mini_batch = pipeline.micro_batch_size * pipeline.micro_batches * pipeline.replicas;
  request.state.consumed_samples = step * request.state.mini_batch;
  request.state.version = PENSTOCK_VERSION;
  request.state.configuration = run_file_;
  request.state.run = run_;
  return request;
}

// Of a tied parameter only the owner writes, and once: the other holders have the same bits.
void Saver::add_tensors(const std::vector<StateTensor>& state, CheckpointRequest& request) const {
  std::unordered_set<std::string> owned;
  for (const Parameter* parameter : pipeline_.owned()) {
    owned.insert(parameter->name);
    request.model.push_back(
        {{parameter->name, parameter->weight.value()}, layers_.at(parameter->name)});
  }
  for (const auto& stage : pipeline_.stages()) {
    for (const Buffer& buffer : stage->set().buffers()) {
      owned.insert(buffer.name);
      request.model.push_back({{buffer.name, buffer.value}, layers_.at(buffer.name)});
    }
  }
  std::unordered_set<std::string> written;
  for (const StateTensor& tensor : state) {
    if (!owned.contains(tensor.parameter) || !written.insert(tensor.name()).second) continue;
    request.optimizer.push_back({{tensor.name(), tensor.tensor}, layers_.at(tensor.parameter)});
  }
}

}  // namespace penstock
