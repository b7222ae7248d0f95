// launch/program/runs/planned_run.h -- PlannedRun: a configuration whose [pipeline] section the
// planner has completed: all of it with pipeline.auto, else the split where there is a profile.
#pragma once

#include <optional>
#include <string>

#include "kernels/device_model.h"
#include "launch/program/options/settings.h"
#include "runtime/network/models/models.h"
#include "runtime/planning/plan/plan.h"
#include "runtime/planning/plan/profile.h"
#include "runtime/system/comm/mpi/session.h"
#include "runtime/system/comm/network.h"

namespace penstock {

// Keeps the plan from varying keys that the command line gives; what the run file gives may be
// varied.
void pin_what_was_asked_for(const Settings& settings, PlanRequest& plan);

// Fixes in the plan all keys that pipeline.auto may choose at their values in `pipeline`.
void pin_whole_pipeline(const PipelineConfig& pipeline, PlanRequest& plan);

struct PlannedRun {
  Config config;                        // the same on every rank
  std::optional<Profile> profile = {};  // on rank 0, when the run has one
  std::string note = {};                // on rank 0: what was chosen and why; empty: nothing
};

// Collective. `settings` counts on rank 0 alone, with its origins; `config` is the same on every
// rank. With pipeline.auto no rank needs more memory than `rank_bytes` of rank 0. Throws on every
// rank when nothing fits or the profile is of another network.
[[nodiscard]] PlannedRun planned_run(const Session& session, Collective& world,
                                     const Settings& settings, const Config& config,
                                     const DeviceModel& device, int64_t rank_bytes,
                                     const ModelMaker& models);

}  // namespace penstock
