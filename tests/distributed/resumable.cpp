// tests/distributed/resumable.cpp -- a run that goes on from a checkpoint, for resume_test.cpp:
//   resumable train CHECKPOINT RUNFILE...   as `penstock train`, from there on ("-": from the
//   start) resumable copy CHECKPOINT RUNFILE...    loads the state on these ranks and saves it
//   again
#include <filesystem>
#include <memory>

#include "launch/program/failure.h"
#include "launch/program/options/run_file.h"
#include "launch/program/setup.h"
#include "runtime/telemetry/reporter.h"
#include "runtime/training/run.h"

namespace penstock {
namespace {

void train(const RunOrder& order, const Station& station) {
  std::unique_ptr<Reporter> reporter;
  const RunConfig& run = order.config.run;
  if (station.session.rank() == 0) {
    reporter = std::make_unique<Reporter>(Reporter::Options{
        .directory = run.out, .total_steps = run.steps, .log_every = 1, .tokens = false});
  }
  (void)Run(order, station, reporter.get()).to_the_end();
}

void copy(const RunOrder& order, const Station& station) {
  const Config& config = order.config;
  DataSource source(config, order.models, station.network.world());
  const ResumePoint point =
      find_resume_point(order.resume_from, config, order.run_file, source.facts().training_samples,
                        station.network.world());
  const Blueprint blueprint = draw_up(config, order.models, 0, 0);
  Pipeline pipeline(config, blueprint, station.grid, station.network, station.device);
  Step step(config, pipeline, station);
  step.continue_from(point.progress);
  load_state(point.checkpoint, pipeline.state(), station.device, station.network.world());
  Saver saver(config, order.run_file, "", pipeline, station);
  (void)CheckpointWriter(station.network.world(), station.device)
      .save(saver.request(step.progress()));
}

int resumable(const Session& session, const std::vector<std::string>& arguments) {
  const std::string& mode = arguments.at(0);
  const std::string checkpoint = arguments.at(1) == "-" ? "" : arguments.at(1);
  const auto all = starting_network(session);
  const Config config = shared_config(all->world(), {arguments.begin() + 2, arguments.end()}, true);
  if (session.rank() == 0) std::filesystem::create_directories(config.run.out);
  const Grid grid = grid_of(config, session.ranks());
  const std::unique_ptr<Network> network = make_mpi_network(session, grid);
  const std::unique_ptr<Device> device = make_cpu_device(1);
  const ModelMaker models = built_in_models();
  const RunOrder order{.config = config,
                       .models = models,
                       .run_file = write_run_file(config),
                       .resume_from = checkpoint};
  (mode == "copy" ? copy : train)(order, {session, *network, grid, *device});
  return 0;
}

}  // namespace
}  // namespace penstock

int main(int argc, char** argv) {
  using namespace penstock;
  Session session(argc, argv);
  try {
    return resumable(session, {argv + 1, argv + argc});
  } catch (...) {
    return report(session, current_failure());
  }
}
