// launch/program/setup.h -- how the commands that run on ranks start: the first network, then the
// configuration, grid and threads on which all ranks agree.
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

// A network of all ranks as one pipeline, for what must be agreed before the grid is known; its
// waits end with an error after `limit` (0: never). Throws on every rank where the ranks are
// different programs or have different arguments (start/meeting.h); `notes` (may be null) gets, on
// rank 0, what a user is to be told of the ranks.
[[nodiscard]] std::unique_ptr<Network> starting_network(
    const Session& session, std::chrono::milliseconds limit = kWaitLimit,
    std::vector<std::string>* notes = nullptr);

// The waits for make_mpi_network(): they end with an error where no rank has moved on for
// run.wait_limit. `nap` is Waits::nap. `folder` (may be empty) gets a file with what each rank was
// waiting for when a run hangs.
[[nodiscard]] Waits watched_waits(const RunConfig& config, std::chrono::microseconds nap,
                                  const std::string& folder = "");

// Rank 0 reads run file and arguments, and all ranks get the same Config, with absolute data paths;
// `origins` (may be null) gets, on rank 0, where each value came from. The last two parameters are
// those of read_settings(). Collective; what rank 0 throws, all ranks throw.
[[nodiscard]] Config shared_config(Collective& world, const std::vector<std::string>& arguments,
                                   bool run_file_required, Settings* origins = nullptr,
                                   DataRead read = DataRead::All);
// Gives every rank the configuration that `make` returns on rank 0, where alone it is called.
// Collective; all ranks throw what rank 0 throws.
[[nodiscard]] Config share(Collective& world, const std::function<Config()>& make);

// The configuration with a vocabulary: where a run on word pieces names none, rank 0 trains one in
// `folder`, unless it is there already. Collective; all ranks throw what rank 0 throws.
[[nodiscard]] Config with_vocabulary(Collective& world, const Config& config,
                                     const std::string& folder);

// The grid of `ranks` ranks. Throws on every rank when the configuration needs fewer or more, with
// the command that fits: `starter` is Session::started_by().
[[nodiscard]] Grid grid_of(const Config& config, int ranks, const std::string& starter = "mpirun");

// Collective. The plan for config.threads, the same on all ranks; binds each rank to cores as
// config.bind says (start/binding.h).
[[nodiscard]] ThreadPlan shared_threads(Collective& world, const Session& session,
                                        const RunConfig& config);

// "rank 3 (stage 1, replica 1, host n7)".
[[nodiscard]] std::string name_of_rank(const Session& session, const Grid& grid);

}  // namespace penstock
