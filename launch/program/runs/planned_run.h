// launch/program/runs/planned_run.h -- what the planner settles of a run before it starts: with
// pipeline.auto the whole [pipeline] section, with a profile at least the split.
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

// Keeps the plan from varying what the command line says; what the run file says is where it
// starts.
void pin_what_was_asked_for(const Settings& settings, PlanRequest& plan);

// Fixes all that pipeline.auto may choose to what this run has.
void pin_whole_pipeline(const PipelineConfig& pipeline, PlanRequest& plan);

struct PlannedRun {
  Config config;                        // the same on every rank
  std::optional<Profile> profile = {};  // on rank 0, when the run has one
  std::string note = {};                // on rank 0: what was chosen and why; empty: nothing
};

// Collective. `settings` must be that of rank 0 there, with origins; `config` the same everywhere.
// pipeline.auto lets no rank need more than `rank_bytes` of rank 0.
// Throws on every rank when nothing fits or the profile is of another network.
[[nodiscard]] PlannedRun planned_run(const Session& session, Collective& world,
                                     const Settings& settings, const Config& config,
                                     const DeviceModel& device, int64_t rank_bytes,
                                     const ModelMaker& models);

}  // namespace penstock
