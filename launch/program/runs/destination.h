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

// Looks at the directory, locks it, and refuses it if need be; changes nothing else.
[[nodiscard]] Destination open_destination(Collective& world, const Config& config,
                                           const Settings& settings);

// Reads and verifies the checkpoint to resume from, a share on each rank. Where one of its files is
// damaged, --resume auto takes the newest whole one, with a note, and --resume PATH is refused,
// naming that one. Throws Error(Data).
void settle_checkpoint(Collective& world, const Config& config, Destination& to);

// Makes a checkpoint of what the run's last attempt has left in the memory of this job's hosts, if
// it is newer than resume_from, and resumes from it; only with --resume auto. Returns notes on rank
// 0.
[[nodiscard]] std::vector<std::string> rescue_memory(Collective& world, const Session& session,
                                                     const Config& config, Destination& to);

// Whether the run is at its end already, as a job that is started again with the same arguments may
// find it; tells so.
[[nodiscard]] bool nothing_is_left(Collective& world, const Config& config, const Destination& to);

// The reporter on rank 0, null elsewhere. It tells the terminal which attempt this is and the
// notes, of which empty ones are left out. Refuses a checkpoint of another run.
[[nodiscard]] std::unique_ptr<Reporter> reporter_for(Collective& world, const Config& config,
                                                     const Destination& to,
                                                     const std::vector<std::string>& notes);

// Makes the directory this run's; the reporter writes there from now on.
void begin(Collective& world, const Config& config, Destination& to, Reporter* reporter);

}  // namespace penstock
