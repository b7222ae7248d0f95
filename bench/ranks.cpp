#include "bench/ranks.h"

#include <fmt/format.h>

#include "launch/program/device_choice.h"

namespace penstock {

StartedRun start_run(const Session& session, const std::vector<std::string>& arguments) {
  StartedRun run;
  DeviceChoice choice;
  {
    const std::unique_ptr<Network> all = starting_network(session);
    run.config = shared_config(all->world(), arguments, false);
    run.config.run.threads = shared_threads(all->world(), session, run.config.run).threads;
    choice = choose_device(all->world(), session, run.config.run.device);
    run.device = open_device(choice, run.config.run.threads, run.config.run);
  }
  run.grid = grid_of(run.config, session.ranks());
  const LinkPlan links = plan_links(run.config.pipeline.link, choice.ranks, run.grid);
  run.network = make_mpi_network(session, run.grid, links);
  return run;
}

int run_ranks(const char* name, int argc, char** argv, RankMain run) {
  const Session session(argc, argv);
  try {
    run(session, {argv + 1, argv + argc});
    return 0;
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}: {}\n", name, error.what());
    session.abort(1);
  }
}

}  // namespace penstock
