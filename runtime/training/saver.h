// runtime/training/saver.h -- Saver: what of a run goes into its checkpoints, and where.
#pragma once

#include <string>

#include "runtime/checkpoint/checkpoint.h"
#include "runtime/comm/station.h"
#include "runtime/configuration/config.h"
#include "runtime/pipeline/pipeline.h"
#include "runtime/training/progress.h"

namespace penstock {

class Saver {
 public:
  // `run_file`: the configuration as text; `run`: the identity of the run (CheckpointState::run).
  // All else must outlive this.
  Saver(const Config& config, std::string run_file, std::string run, const Pipeline& pipeline,
        const Station& station);

  // Collective over all ranks. Writes what the pipeline's state tables hold, as it is at
  // `progress`, to <out>/checkpoints/step-...; each tensor from one rank. Returns a warning,
  // usually empty. Throws as save_checkpoint().
  [[nodiscard]] std::string save(const Progress& progress);

 private:
  void add_tensors(CheckpointRequest& request) const;

  const Config& config_;
  std::string run_file_, run_;
  const Pipeline& pipeline_;
  Network& network_;
  Device& device_;
};

}  // namespace penstock
