// runtime/planning/blueprint/forecast.h -- what the planner expects of the run that is about to
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

struct Forecast {
  Prediction prediction;
  std::string basis;  // "counted for cpu, 2 threads", "measured: profile.json"
  // Model FLOPs of a step over all ranks: thrice the forward of every micro-batch, what is
  // recomputed not counted (the convention of PaLM, Chowdhery et al. 2022, appendix B).
  double step_flops = 0;
  // Copies in memory (checkpoint.partner): bytes of one, by rank of one pipeline; and for how long
  // those of a node's ranks keep its network card busy, 0 where all ranks share a node.
  std::vector<int64_t> copy_bytes = {};
  double copy_s = 0;
};

// `profile` may be null. Throws Error(Input) when the profile is of another network.
[[nodiscard]] Forecast forecast(const Config& config, const Blueprint& blueprint,
                                const DeviceModel& device, const Profile* profile,
                                int ranks_per_node);

}  // namespace penstock
