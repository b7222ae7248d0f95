// launch/program/runs/destination.h -- Destination: where a training job writes and from where it
// resumes: its run directory, the checkpoint to go on from, and the reporter that writes logs
// there.
//
// `penstock train` calls the functions in the order in which they stand here. All are collective
// over `world`, and throw on every rank what rank 0 finds. They change no file of an older run
// before begin(), right before the first step; rescue_memory() may add a checkpoint.
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

// The run directory, on rank 0, and what all ranks know of it.
struct Destination {
  std::unique_ptr<RunDirectory> directory;  // null except on rank 0
  std::string path;                         // of the run directory
  // The step directory of a checkpoint to go on from; empty: from the start.
  std::string resume_from;
  std::string run;      // the identity of the run
  int64_t attempt = 1;  // the number of this attempt at the run, from 1
};

// Locks the directory and looks at it. Throws as RunDirectory's constructor does (Error(Input)
// where results of another run are there or another process holds the lock), and Error(Input) where
// --overwrite would remove the checkpoint that init.from names. Changes no file in it.
[[nodiscard]] Destination open_destination(Collective& world, const Config& config,
                                           const Settings& settings);

// Verifies the checkpoint to resume from, a share on each rank. Where a file is damaged, --resume
// auto goes on with the newest whole checkpoint instead, and notes it; --resume PATH throws
// Error(Data), which names the newest whole one.
void settle_checkpoint(Collective& world, const Config& config, Destination& to);

// Makes a checkpoint of the copies that the last attempt has left in the memory of this job's hosts
// (runtime/engine/training/partner/rescue.h), where that is newer than resume_from, and resumes
// from it; does nothing without --resume auto. Returns notes on rank 0.
[[nodiscard]] std::vector<std::string> rescue_memory(Collective& world, const Session& session,
                                                     const Config& config, Destination& to);

// Whether --resume auto finds the run at its last step already, so that the job can end; tells the
// user. `config` has the vocabulary and run.out that the run would have. Throws Error(Input) where
// the finished run is another one, as a run that goes on does.
[[nodiscard]] bool nothing_is_left(Collective& world, const Config& config, const Destination& to);

// Makes the reporter on rank 0 (elsewhere the result is null), which tells the terminal which
// attempt this is, and `notes`, without empty ones; `start` is rank 0's. Throws Error(Input) where
// the checkpoint to resume from is another run's.
[[nodiscard]] std::unique_ptr<Reporter> reporter_for(Collective& world, const Config& config,
                                                     const Destination& to,
                                                     const std::vector<std::string>& notes,
                                                     const StartRecord& start);

// Makes the directory this run's own; from now on the reporter writes there.
void begin(Collective& world, const Config& config, Destination& to, Reporter* reporter);

}  // namespace penstock
