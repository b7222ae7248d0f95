// launch/program/runs/dry_run.h -- the parts of `penstock train --dry-run` that a run which trains
// does not have.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "launch/program/device_choice.h"
#include "launch/program/runs/planned_run.h"
#include "runtime/network/models/models.h"
#include "runtime/planning/blueprint/blueprint.h"
#include "runtime/planning/blueprint/config.h"
#include "runtime/system/comm/station.h"

namespace penstock {

// How long a waiting rank sleeps between two looks for messages, so that the `local_ranks` ranks of
// a host, however many, take a small part of its cores for looking. A message is found late by half
// of that on average.
[[nodiscard]] std::chrono::microseconds waiting_nap(int local_ranks);
// How long a rank whose modelled device computes sleeps between two looks for messages: longer,
// since most ranks do so most of the time.
[[nodiscard]] std::chrono::microseconds computing_nap(int local_ranks);

// `choice` with its GPUs removed, which a dry run does not use; called after refuse_sharing() has
// looked at them.
[[nodiscard]] DeviceChoice without_gpus(DeviceChoice choice);

// What the start of the job hands on to the dry run.
struct DryRunChecks {
  std::vector<std::string> notes = {};                  // on rank 0: what the user is to be told
  std::function<void(const Blueprint&)> drawn_up = {};  // DryRunOrder::drawn_up
};

// Collective; station.device is what open_device() opens for a dry run. Takes the steps, tells of
// them on rank 0, and writes there DIRECTORY.dry-run/dry_run.json, which has the form of
// summary.json without a loss, and trace.json. Returns the exit code.
[[nodiscard]] int dry_run(const PlannedRun& planned, const Station& station,
                          const ModelMaker& models, const std::string& directory,
                          const DryRunChecks& checks);

}  // namespace penstock
