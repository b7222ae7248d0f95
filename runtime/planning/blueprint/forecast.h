// runtime/planning/blueprint/forecast.h -- the planner's prediction for the run that is about to
// start, so that its report can put measured beside predicted.
#pragma once

#include <string>
#include <vector>

#include "kernels/device_model.h"
#include "runtime/planning/blueprint/blueprint.h"
#include "runtime/planning/blueprint/config.h"
#include "runtime/planning/plan/predict.h"
#include "runtime/planning/plan/profile.h"

namespace penstock {

// What checkpoint.partner costs: the copies of each rank's state in the memory of its own host and
// of its partner's.
struct CopyCosts {
  std::vector<int64_t> bytes = {};  // of one copy, by rank of one pipeline
  // How long the copies of a node's ranks keep its network card busy; 0 where all ranks share a
  // node.
  double network_s = 0;
};

struct Forecast {
  Prediction prediction;
  std::string basis;  // "counted for cpu, 2 threads", "measured: profile.json"
  // Model FLOPs of a step over all ranks: thrice the forward of every micro-batch, what is
  // recomputed not counted (the convention of PaLM, Chowdhery et al. 2022, appendix B).
  double step_flops = 0;
  CopyCosts copies = {};  // empty without checkpoint.partner
};

// The costs of checkpoint.partner's copies on the ranks of that prediction.
[[nodiscard]] CopyCosts copy_costs(const Prediction& prediction, const Arrangement& candidate,
                                   const Cluster& cluster);

// Predicts the run. `profile` (null: none) corrects the counted costs; throws Error(Input) when it
// is of another network.
[[nodiscard]] Forecast forecast(const Config& config, const Blueprint& blueprint,
                                const DeviceModel& device, const Profile* profile,
                                int ranks_per_node);

}  // namespace penstock
