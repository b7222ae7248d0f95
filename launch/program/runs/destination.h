// launch/program/runs/destination.h -- where a job writes: its run directory, and the reporter that
// fills it. What is there is left as it is until the run is about to take its first step.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "launch/program/options/settings.h"
#include "runtime/planning/blueprint/config.h"
#include "runtime/records/run_directory/run_directory.h"
#include "runtime/records/telemetry/reporter.h"
#include "runtime/system/comm/mpi/session.h"
#include "runtime/system/comm/network.h"

namespace penstock {

// The run directory on rank 0, and what all ranks know of it.
struct Destination {
  std::unique_ptr<RunDirectory> directory;
  std::string path;
  std::string resume_from;  // a step directory; empty: from the start
  std::string run;          // the identity
  int64_t attempt = 1;      // of that run
};

// All are collective, and throw on every rank what rank 0 finds.

// Looks, locks and refuses; changes nothing.
[[nodiscard]] Destination open_destination(Collective& world, const Config& config,
                                           const Settings& settings);

// Reads the checkpoint that is to be gone on from, a share on each rank. Where one of its files is
// damaged, --resume auto goes on from the newest whole one, with a note, and --resume PATH is
// refused with it. Throws Error(Data).
void settle_checkpoint(Collective& world, const Config& config, Destination& to);

// With --resume auto: what the run's last attempt has left in the memory of this job's hosts, and
// is newer than resume_from, becomes a checkpoint and is gone on from. Returns notes on rank 0.
[[nodiscard]] std::vector<std::string> rescue_memory(Collective& world, const Session& session,
                                                     const Config& config, Destination& to);

// A job that is started again by the same words may find its run at the end; it is told so.
[[nodiscard]] bool nothing_is_left(Collective& world, const Config& config, const Destination& to);

// On rank 0, nothing elsewhere. It tells the terminal which attempt this is and the notes, of which
// empty ones are left out. Refuses a checkpoint of another run.
[[nodiscard]] std::unique_ptr<Reporter> reporter_for(Collective& world, const Config& config,
                                                     const Destination& to,
                                                     const std::vector<std::string>& notes);

// From here on the directory is this run's, and the reporter writes there.
void begin(Collective& world, const Config& config, Destination& to, Reporter* reporter);

}  // namespace penstock
