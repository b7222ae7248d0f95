// runtime/engine/training/checkpoints/saver.h -- Saver: puts together what a checkpoint of the run
// must contain, as a request to the checkpoint writer (runtime/records/checkpoint/writer). It
// writes nothing itself.
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
  // The other arguments must outlive this. `station`: which rank this is, with its network, its
  // place in stages x replicas and its device.
  Saver(const Config& config, std::string run_file, std::string run, Pipeline& pipeline,
        const Station& station);

  // The request to write a checkpoint to <run.out>/checkpoints/step-...: the tensors of this rank's
  // state tables and where the run stands, `progress`. It refers to the tensors and does not copy
  // them. A parameter that several stages hold is in the request of one of them. Waits for weights
  // that other replicas are still sending.
  [[nodiscard]] CheckpointRequest request(const Progress& progress);
  // The part of request() that is not tensors: progress, configuration, layers.
  [[nodiscard]] CheckpointState state(const Progress& progress) const;
  // From now on takes the tensors of `pipeline`, which must outlive this, and writes this
  // configuration: the layers of the run were split in another way.
  void serve(Pipeline& pipeline, std::string run_file);
  [[nodiscard]] const std::string& run_file() const { return run_file_; }
  // Sets the last step in whose audit nothing was found: the newest checkpoint up to that step is
  // then not deleted (Retention::audited).
  void audited(int64_t step) { audited_ = step; }

 private:
  void add_tensors(CheckpointRequest& request) const;

  const Config& config_;
  std::string run_file_, run_;
  Pipeline* pipeline_;  // never null
  Network& network_;
  int64_t audited_ = 0;
};

}  // namespace penstock
