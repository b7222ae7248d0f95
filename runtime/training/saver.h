// runtime/training/saver.h -- when and where checkpoints of a run go.
#pragma once

#include <string>

#include "runtime/checkpoint/checkpoint.h"
#include "runtime/configuration/config.h"

namespace penstock {

class Saver {
 public:
  Saver(const Config& config, std::string run_file, Collective& world, Device& device)
      : config_(config), run_file_(std::move(run_file)), world_(world), device_(device) {}

  // Collective. Completes `request` (which brings the tensors) and writes
  // <out>/checkpoints/step-... Returns a warning, usually empty.
  [[nodiscard]] std::string save(CheckpointRequest request, int64_t step, int64_t samples) {
    request.root = config_.run.out + "/checkpoints";
    request.keep = config_.checkpoint.keep;
    request.state.step = step;
    request.state.seed = config_.run.seed;
    request.state.consumed_samples = samples;
    request.state.mini_batch = config_.pipeline.micro_batch_size * config_.pipeline.micro_batches *
                               config_.pipeline.replicas;
    request.state.version = PENSTOCK_VERSION;
    request.state.configuration = run_file_;
    return save_checkpoint(request, world_, device_).warning;
  }

 private:
  const Config& config_;
  std::string run_file_;
  Collective& world_;
  Device& device_;
};

}  // namespace penstock
