// runtime/engine/training/checkpoints/saver.h -- Saver: gathers what of a run goes into a
// checkpoint, as a request to write it.
#pragma once

#include <string>

#include "runtime/engine/pipeline/pipeline.h"
#include "runtime/engine/training/checkpoints/progress.h"
#include "runtime/planning/blueprint/config.h"
#include "runtime/records/checkpoint/checkpoint.h"
#include "runtime/system/comm/station.h"

namespace penstock {

class Saver {
 public:
  // `run_file`: the configuration as text; `run`: the identity of the run (CheckpointState::run).
  // All else must outlive this.
  Saver(const Config& config, std::string run_file, std::string run, Pipeline& pipeline,
        const Station& station);

  // The request to write what the pipeline's state tables hold at `progress` to
  // <out>/checkpoints/step-...: it refers to the tensors, each on one stage. Waits for weights that
  // are on their way.
  [[nodiscard]] CheckpointRequest request(const Progress& progress);
  // The part of request() that says where the run stands.
  [[nodiscard]] CheckpointState state(const Progress& progress) const;
  // Sets the last step whose audit found nothing: Retention::audited of later requests.
  void audited(int64_t step) { audited_ = step; }

 private:
  void add_tensors(CheckpointRequest& request) const;

  const Config& config_;
  std::string run_file_, run_;
  Pipeline& pipeline_;
  Network& network_;
  int64_t audited_ = 0;
};

}  // namespace penstock
