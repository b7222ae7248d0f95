// launch/program/runs/dry_run.h -- the part of `penstock train --dry-run` in the program: how ranks
// wait, which device they have, and the files that are written. The rehearsal itself is
// runtime/engine/training/dry_run.
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

// How long a waiting rank sleeps between two looks for messages. A laptop may rehearse hundreds of
// ranks, so the more of them are on this host (`local_ranks`), the longer each sleeps.
[[nodiscard]] std::chrono::microseconds waiting_nap(int local_ranks);

// `choice` without GPUs, which a dry run does not use. Called after refuse_sharing() has looked at
// them (device_choice.h).
[[nodiscard]] DeviceChoice without_gpus(DeviceChoice choice);

// What the start of the job hands on.
struct DryRunChecks {
  std::vector<std::string> notes = {};  // for the user, on rank 0
  // Called once the network is known: DryRunOrder::drawn_up.
  std::function<void(const Blueprint&)> drawn_up = {};
};

// Rehearses the run and tells of it on rank 0, with the cluster that is modelled. Collective over
// all ranks; station.device is what open_device() has opened for a dry run. Rank 0 writes to
// <directory>.dry-run: dry_run.json, in the form of summary.json but without a loss, and trace.json
// where steps were recorded. Returns the exit code. `station`: which rank this is, with its
// network, its place in stages x replicas and its device.
[[nodiscard]] int dry_run(const PlannedRun& planned, const Station& station,
                          const ModelMaker& models, const std::string& directory,
                          const DryRunChecks& checks);

}  // namespace penstock
