// launch/program/dry_run.h -- `penstock train --dry-run`: what differs from a run that trains.
#pragma once

#include <chrono>
#include <string>

#include "launch/program/device_choice.h"
#include "launch/program/planned_run.h"
#include "runtime/comm/station.h"
#include "runtime/configuration/config.h"
#include "runtime/models/models.h"

namespace penstock {

// Between two looks at messages, while a modelled device computes or a rank waits: so many that the
// ranks of a host take a fifth of its cores for looking, however many they are.
[[nodiscard]] std::chrono::microseconds dry_run_nap(int local_ranks);

// As `choice`, computing on no GPU: what it found of them has been checked.
[[nodiscard]] DeviceChoice without_gpus(DeviceChoice choice);

// Collective, on a device of open_device() for such a run: takes the steps, tells of them on rank
// 0, and writes there DIRECTORY.dry-run/dry_run.json, which has the form of summary.json without a
// loss, and trace.json. Returns the exit code.
[[nodiscard]] int dry_run(const PlannedRun& planned, const Station& station,
                          const ModelMaker& models, const std::string& directory);

}  // namespace penstock
