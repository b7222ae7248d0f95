// launch/program/setup.h -- from arguments to a run that all ranks agree on: its configuration, its
// grid, its threads. Shared by the commands that start ranks.
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

// A network of all ranks in a row, for what must be agreed before the grid is known. Throws on
// every rank where the ranks are different programs or have other arguments (start/meeting.h); rank
// 0 gets in `notes` (may be null) what is to be said of them.
[[nodiscard]] std::unique_ptr<Network> starting_network(
    const Session& session, std::chrono::milliseconds limit = kWaitLimit,
    std::vector<std::string>* notes = nullptr);

// The waits for make_mpi_network(): all ranks are watched for run.wait_limit. `nap` as Waits has
// it. `folder` (may be empty) gets what each rank was waiting for when a run hangs.
[[nodiscard]] Waits watched_waits(const RunConfig& config, std::chrono::microseconds nap,
                                  const std::string& folder = "");

// Rank 0 reads run file and arguments; all ranks get the same Config, data paths absolute, and rank
// 0 in `origins` (may be null) where each value came from. Collective; what it throws, all ranks
// throw.
[[nodiscard]] Config shared_config(Collective& world, const std::vector<std::string>& arguments,
                                   bool run_file_required, Settings* origins = nullptr,
                                   DataRead read = DataRead::All);
// Rank 0's configuration on every rank. Collective; all ranks throw what rank 0 throws.
[[nodiscard]] Config share(Collective& world, const std::function<Config()>& make);

// A run on word pieces whose configuration names no vocabulary gets one in `folder`, trained on
// rank 0 unless it is there already. Collective; all ranks throw what rank 0 throws.
[[nodiscard]] Config with_vocabulary(Collective& world, const Config& config,
                                     const std::string& folder);

// The grid. Throws on every rank when there are too few or too many ranks, with the command that
// fits: `starter` is Session::started_by().
[[nodiscard]] Grid grid_of(const Config& config, int ranks, const std::string& starter = "mpirun");

// Collective. The plan for config.threads, the same on all ranks, which are bound to their cores
// from now on as config.bind says (start/binding.h).
[[nodiscard]] ThreadPlan shared_threads(Collective& world, const Session& session,
                                        const RunConfig& config);

// "rank 3 (stage 1, replica 1, host n7)".
[[nodiscard]] std::string name_of_rank(const Session& session, const Grid& grid);

}  // namespace penstock
