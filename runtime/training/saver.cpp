#include "runtime/training/saver.h"

#include <unordered_set>

namespace penstock {

Saver::Saver(const Config& config, std::string run_file, std::string run, const Pipeline& pipeline,
             const Station& station)
    : config_(config),
      run_file_(std::move(run_file)),
      run_(std::move(run)),
      pipeline_(pipeline),
      network_(station.network),
      device_(station.device) {}

std::string Saver::save(const std::vector<StateTensor>& state, int64_t step) {
  const PipelineConfig& pipeline = config_.pipeline;
  CheckpointRequest request;
  if (network_.replicas().rank() == 0) add_tensors(state, request);
  request.root = config_.run.out + "/checkpoints";
  request.keep = config_.checkpoint.keep;
  request.state.step = step;
  request.state.seed = config_.run.seed;
  request.state.mini_batch = pipeline.micro_batch_size * pipeline.micro_batches * pipeline.replicas;
  request.state.consumed_samples = step * request.state.mini_batch;
  request.state.version = PENSTOCK_VERSION;
  request.state.configuration = run_file_;
  request.state.run = run_;
  return save_checkpoint(request, network_.world(), device_).warning;
}

// Of a tied parameter only the owner writes, and once: the other holders have the same bits.
void Saver::add_tensors(const std::vector<StateTensor>& state, CheckpointRequest& request) const {
  std::unordered_set<std::string> owned;
  for (const Parameter* parameter : pipeline_.owned()) {
    owned.insert(parameter->name);
    request.model.push_back({parameter->name, parameter->weight.value()});
  }
  for (const auto& stage : pipeline_.stages()) {
    for (const Buffer& buffer : stage->set().buffers()) {
      owned.insert(buffer.name);
      request.model.push_back({buffer.name, buffer.value});
    }
  }
  std::unordered_set<std::string> written;
  for (const StateTensor& tensor : state) {
    if (!owned.contains(tensor.parameter) || !written.insert(tensor.name()).second) continue;
    request.optimizer.push_back({tensor.name(), tensor.tensor});
  }
}

}  // namespace penstock
