// bench/ranks.h -- how benchmarks that run on ranks start a run and report errors.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "launch/program/setup.h"

namespace penstock {

// A run as `penstock train` starts one, before its network is built.
struct StartedRun {
  Config config;  // the same on all ranks
  Grid grid;
  std::unique_ptr<Device> device;  // this rank's
  std::unique_ptr<Network> network;
};

// Collective. `arguments` are as for `penstock train`; the run file may be missing. Throws
// Error(Input) on every rank where they are wrong, or do not fit the number of ranks.
[[nodiscard]] StartedRun start_run(const Session& session,
                                   const std::vector<std::string>& arguments);

using RankMain = void (*)(const Session& session, const std::vector<std::string>& arguments);

// The main() of the program `name`: calls `run` on each rank, prints what it throws, and then
// aborts the job.
[[nodiscard]] int run_ranks(const char* name, int argc, char** argv, RankMain run);

}  // namespace penstock
