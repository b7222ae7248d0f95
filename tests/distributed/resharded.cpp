// tests/distributed/resharded.cpp -- for resume_test.cpp: loads the whole state of a checkpoint on
// these ranks and saves it again, with no step between.
//   resharded CHECKPOINT RUNFILE [options of `penstock train`]
#include <filesystem>
#include <memory>

#include "launch/program/failure.h"
#include "launch/program/options/run_file.h"
#include "launch/program/setup.h"
#include "runtime/engine/training/run.h"

namespace penstock {
namespace {

void load_and_save(const Config& config, const std::string& checkpoint, const Station& station) {
  Collective& world = station.network.world();
  const ModelMaker models = built_in_models();
  DataSource source(config, models, world);
  const std::string run_file = write_run_file(config);
  const ResumePoint point = find_resume_point(checkpoint, config, run_file, source.begin(), world);
  const Blueprint blueprint = draw_up(config, models, 0, 0);
  Pipeline pipeline(config, blueprint, station.grid, station.network, station.device);
  Step step(config, pipeline, station);
  step.continue_from(point.progress);
  load_state(point.checkpoint, pipeline.state(), station.device, world);
  Saver saver(config, run_file, "", pipeline, station);
  (void)CheckpointWriter(world, station.device).save(saver.request(step.progress()));
}

int resharded(const Session& session, const std::vector<std::string>& arguments) {
  const auto all = starting_network(session);
  const Config config = shared_config(all->world(), {arguments.begin() + 1, arguments.end()}, true);
  if (session.rank() == 0) std::filesystem::create_directories(config.run.out);
  const Grid grid = grid_of(config, session.ranks());
  const std::unique_ptr<Network> network = make_mpi_network(session, grid);
  const std::unique_ptr<Device> device = make_cpu_device(1);
  load_and_save(config, arguments.at(0), {session, *network, grid, *device});
  return 0;
}

}  // namespace
}  // namespace penstock

int main(int argc, char** argv) {
  using namespace penstock;
  Session session(argc, argv);
  try {
    return resharded(session, {argv + 1, argv + argc});
  } catch (...) {
    return report(session, current_failure());
  }
}
