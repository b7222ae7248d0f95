// launch/program/commands/train_command.cpp -- `penstock train`: everything around the run.
#include <fmt/format.h>

#include <memory>

#include "launch/program/commands/commands.h"
#include "launch/program/device_choice.h"
#include "launch/program/failure.h"
#include "launch/program/options/run_file.h"
#include "launch/program/planned_run.h"
#include "launch/program/run_directory.h"
#include "launch/program/setup.h"
#include "runtime/data/text/vocabulary.h"
#include "runtime/telemetry/reporter.h"
#include "runtime/training/run.h"
#include "runtime/training/transfer.h"

namespace penstock {
namespace {

// The run directory and the reporter, on rank 0; nothing elsewhere.
std::unique_ptr<Reporter> open_report(Collective& world, const Config& config,
                                      const std::vector<std::string>& notes) {
  std::unique_ptr<Reporter> reporter;
  (void)on_first_rank(world, [&] {
    prepare_run_directory(config);
    reporter = std::make_unique<Reporter>(Reporter::Options{.directory = config.run.out,
                                                            .total_steps = config.run.steps,
                                                            .log_every = config.run.log_every,
                                                            .tokens = reads_tokens(config.data)});
    for (const std::string& note : notes) {
      if (!note.empty()) reporter->note(note);
    }
    return std::string();
  });
  return reporter;
}

}  // namespace

int train_command(Session& session, const Arguments& arguments, const ModelMaker& models) {
  PlannedRun run;
  Grid grid;
  ThreadPlan plan;
  DeviceChoice choice;
  std::unique_ptr<Device> device;
  {
    const std::unique_ptr<Network> all = starting_network(session);
    Collective& world = all->world();
    Settings settings;
    Config config = with_vocabulary(world, shared_config(world, arguments, true, &settings));
    plan = shared_threads(world, session, config.run.threads);
    config.run.threads = plan.threads;
    choice = choose_device(world, session, config.run.device);
    refuse_sharing(choice, config.run);
    agree(world, fmt::format("rank {} (host {})", session.rank(), session.host()),
          [&] { device = open_device(choice, plan.threads, config.run); });
    run =
        planned_run(session, world, settings, config, device->model(),
                    memory_of_rank(choice, session.rank(), session.local_ranks(), *device), models);
    grid = grid_of(run.config, session.ranks());
    refuse_mixture(choice, grid);
    InitConfig& init = run.config.init;
    if (!init.from.empty()) {
      init.from = on_first_rank(world, [&] { return checkpoint_at(init.from); });
    }
  }
  const LinkPlan links =
      on_every_rank([&] { return plan_links(run.config.pipeline.link, choice.ranks, grid); });
  const std::unique_ptr<Network> network =
      make_mpi_network(session, grid, links, watched_waits(run.config.run, run.config.run.out));
  std::unique_ptr<Reporter> reporter =
      open_report(network->world(), run.config,
                  {plan.warning.empty() ? "" : "note: " + plan.warning,
                   fallback_note(choice, run.config.run.device), run.note, links.note});
  try {
    const RunOrder order{.config = run.config,
                         .models = models,
                         .run_file = write_run_file(run.config),
                         .profile = run.profile ? &*run.profile : nullptr};
    (void)Run(order, {session, *network, grid, *device}, reporter.get()).to_the_end();
  } catch (...) {
    if (session.ranks() == 1) throw;
    rethrow_naming(name_of_rank(session, grid));
  }
  return 0;
}

}  // namespace penstock
