// runtime/training/saver.h -- Saver: what of a run goes into its checkpoints, and where.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "runtime/checkpoint/checkpoint.h"
#include "runtime/comm/station.h"
#include "runtime/configuration/config.h"
#include "runtime/optimizer/state.h"
#include "runtime/pipeline/pipeline.h"

namespace penstock {

class Saver {
 public:
  // `run_file`: the configuration as text; `run`: the identity of the run (CheckpointState::run).
  // All else must outlive this.
  Saver(const Config& config, std::string run_file, std::string run, const Pipeline& pipeline,
        const Station& station);

  // The weights, the buffers and `state`, which belongs to them, as they are after `step`, for
  // <out>/checkpoints/step-...: of each tensor a reference, from one stage.
  [[nodiscard]] CheckpointRequest request(const std::vector<StateTensor>& state,
                                          int64_t step) const;

 private:
  void add_tensors(const std::vector<StateTensor>& state, CheckpointRequest& request) const;

  const Config& config_;
  std::string run_file_, run_;
  const Pipeline& pipeline_;
  Network& network_;
  std::unordered_map<std::string, int64_t> layers_;  // of the network's tensors, by name
};

}  // namespace penstock
