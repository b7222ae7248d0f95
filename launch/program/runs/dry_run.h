// launch/program/runs/dry_run.h -- `penstock train --dry-run`: what differs from a run that trains.
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

// How long a waiting rank sleeps between two looks for messages, so that the ranks of a host,
// however many they are, take a small part of its cores for looking. A message is found late by
// half of it on average.
[[nodiscard]] std::chrono::microseconds waiting_nap(int local_ranks);
// The same while a modelled device computes, as most do most of the time.
[[nodiscard]] std::chrono::microseconds computing_nap(int local_ranks);

// `choice` without GPUs: what it found of them has been checked.
[[nodiscard]] DeviceChoice without_gpus(DeviceChoice choice);

// What a start found out.
struct DryRunChecks {
  std::vector<std::string> notes = {};                  // on rank 0, to be told
  std::function<void(const Blueprint&)> drawn_up = {};  // as DryRunOrder's
};

// Collective, on a device of open_device() for such a run: takes the steps, tells of them on rank
// 0, and writes there DIRECTORY.dry-run/dry_run.json, which has the form of summary.json without a
// loss, and trace.json. Returns the exit code.
[[nodiscard]] int dry_run(const PlannedRun& planned, const Station& station,
                          const ModelMaker& models, const std::string& directory,
                          const DryRunChecks& checks);

}  // namespace penstock
