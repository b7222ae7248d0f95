// launch/program/runs/planned_run.h -- PlannedRun: a run whose [pipeline] section the planner has
// completed before it starts: with pipeline.auto all of it (stages, replicas, schedule, ...),
// otherwise only the split of layers over stages where there is a profile or ranks are unlike, and
// the schedule where one is searched.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "kernels/device_model.h"
#include "launch/program/options/settings.h"
#include "runtime/network/models/models.h"
#include "runtime/planning/costs/devices.h"
#include "runtime/planning/plan/plan.h"
#include "runtime/planning/schedule/search/bounds/certificate.h"
#include "runtime/system/comm/mpi/session.h"
#include "runtime/system/comm/network.h"

namespace penstock {

// Tells the planner not to vary keys that the command line gives. Keys of the run file may be
// varied.
void pin_what_was_asked_for(const Settings& settings, PlanRequest& plan);

struct PlannedRun {
  Config config;  // the completed configuration, the same on every rank
  // What the ranks compute on, on rank 0: like the run's device, or as the run says it.
  std::optional<Devices> devices = {};
  // For the user, on rank 0: what was chosen and why.
  std::vector<std::string> notes = {};
  std::optional<Certificate> certificate = {};  // on rank 0, of a schedule that was searched
};

// Plans the run. Collective over `world`. `settings` counts on rank 0 alone; `config`, the same
// configuration, is the same on every rank. With pipeline.auto or a searched schedule no rank may
// need more memory than `rank_bytes`, which counts on rank 0. `kept_in`: the directory of the run
// that this one goes on with, for its schedule; empty: none. Throws Error(Input) on every rank when
// nothing fits or the profile is of another network.
[[nodiscard]] PlannedRun planned_run(const Session& session, Collective& world,
                                     const Settings& settings, const Config& config,
                                     const DeviceModel& device, int64_t rank_bytes,
                                     const ModelMaker& models, const std::string& kept_in);

}  // namespace penstock
