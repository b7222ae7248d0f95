// launch/program/runs/destination.h -- Destination: the run directory of a job, the checkpoint that
// it resumes from, and the reporter that writes there. The directory's files stay as they are until
// the run is about to take its first step.
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
  std::unique_ptr<RunDirectory> directory;  // null except on rank 0
  std::string path;
  std::string resume_from;  // a step directory; empty: from the start
  std::string run;          // the identity of the run
  int64_t attempt = 1;      // the number of this attempt at the run
};

// All functions are collective, and throw on every rank what rank 0 finds.

// Locks the directory and looks at it; throws Error where this job must not write there. Changes no
// file in it.
[[nodiscard]] Destination open_destination(Collective& world, const Config& config,
                                           const Settings& settings);

// Reads and verifies the checkpoint to resume from, a share on each rank. Where one of its files is
// damaged, --resume auto takes the newest whole checkpoint instead, with a note; --resume PATH
// throws Error(Data), which names the newest whole one.
void settle_checkpoint(Collective& world, const Config& config, Destination& to);

// Makes a checkpoint of what the run's last attempt has left in the memory of this job's hosts, if
// it is newer than resume_from, and resumes from it; only with --resume auto. Returns notes on rank
// 0.
[[nodiscard]] std::vector<std::string> rescue_memory(Collective& world, const Session& session,
                                                     const Config& config, Destination& to);

// Whether --resume auto finds the run at its end already; says so.
[[nodiscard]] bool nothing_is_left(Collective& world, const Config& config, const Destination& to);

// Makes the reporter on rank 0, null elsewhere. It tells the terminal which attempt this is, and
// the notes that are not empty. Throws Error where the checkpoint is one of another run.
[[nodiscard]] std::unique_ptr<Reporter> reporter_for(Collective& world, const Config& config,
                                                     const Destination& to,
                                                     const std::vector<std::string>& notes);

// Makes the directory this run's own; the reporter writes there from now on.
void begin(Collective& world, const Config& config, Destination& to, Reporter* reporter);

}  // namespace penstock
