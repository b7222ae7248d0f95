// launch/program/setup.h -- the first things that commands on MPI ranks do: connect the ranks, read
// the configuration on rank 0 and give it to all, work out the grid of stages and replicas, and
// share out the cores.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "launch/program/options/settings.h"
#include "launch/program/threads.h"
#include "runtime/planning/blueprint/config.h"
#include "runtime/system/comm/grid.h"
#include "runtime/system/comm/mpi/session.h"
#include "runtime/system/comm/network.h"

namespace penstock {

// Connects all ranks of the job as one pipeline, a preliminary network for what must be agreed
// before the grid is known. A wait in it ends with an error after `limit` (0: never). Collective;
// throws on every rank where the ranks are different programs or have different arguments
// (start/meeting.h). `notes` (may be null) gets, on rank 0, notes about the ranks for the user.
[[nodiscard]] std::unique_ptr<Network> starting_network(
    const Session& session, std::chrono::milliseconds limit = kWaitLimit,
    std::vector<std::string>* notes = nullptr);

// The rules for waiting of the run's real network (make_mpi_network()): when no rank of the job has
// moved on for run.wait_limit, the waits end with an error. `nap`: how long a waiting rank sleeps
// between looks (Waits::nap). `folder` (may be empty): where a file is written, when a run hangs,
// that says what each rank was waiting for.
[[nodiscard]] Waits watched_waits(const RunConfig& config, std::chrono::microseconds nap,
                                  const std::string& folder = "");

// Rank 0 reads run file and arguments, and all ranks get the same Config, with absolute data paths.
// Collective; what rank 0 throws, all ranks throw. `origins` (may be null) gets, on rank 0, the
// settings with the place that each value came from. The other parameters are those of
// read_settings().
[[nodiscard]] Config shared_config(Collective& world, const std::vector<std::string>& arguments,
                                   bool run_file_required, Settings* origins = nullptr,
                                   DataRead read = DataRead::All);
// Gives all ranks the configuration that `make` returns on rank 0, the only rank on which it is
// called. Collective; all ranks throw what rank 0 throws.
[[nodiscard]] Config share(Collective& world, const std::function<Config()>& make);

// The configuration with a vocabulary: where a run on word pieces names none, rank 0 trains one
// from the text and writes it to `folder`, unless it is there already. Collective; all ranks throw
// what rank 0 throws.
[[nodiscard]] Config with_vocabulary(Collective& world, const Config& config,
                                     const std::string& folder);

// The grid of stages and replicas for `ranks` ranks. Throws Error(Input) on every rank when the
// configuration needs fewer or more, with the command that fits; `starter` is what that begins
// with, Session::started_by().
[[nodiscard]] Grid grid_of(const Config& config, int ranks, const std::string& starter = "mpirun");

// How many threads each rank computes with (threads.h), the same number on all ranks; binds each
// rank to cores as config.bind says (start/binding.h); threads that wait sleep where there are more
// of them than cores. Collective.
[[nodiscard]] ThreadPlan shared_threads(Collective& world, const Session& session,
                                        const RunConfig& config);

// "rank 3 (stage 1, replica 1, host n7)", for messages.
[[nodiscard]] std::string name_of_rank(const Session& session, const Grid& grid);

}  // namespace penstock
