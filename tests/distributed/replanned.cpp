// tests/distributed/replanned.cpp -- for replan_test.cpp: trains, and asks for re-plans in steps
// that are told.
//   replanned REQUESTS RUNFILE [options of `penstock train`]
// REQUESTS: "2:1,3;5:" asks in step 2 for one layer in the first stage and three in the second, and
// in step 5 for what the planner finds.
#include <filesystem>
#include <map>
#include <memory>
#include <sstream>

#include "launch/program/failure.h"
#include "launch/program/options/run_file.h"
#include "launch/program/setup.h"
#include "runtime/engine/training/run.h"
#include "runtime/records/telemetry/reporter.h"

namespace penstock {
namespace {

std::map<int64_t, std::string> requests_of(const std::string& text) {
  std::map<int64_t, std::string> requests;
  std::istringstream parts(text);
  for (std::string part; std::getline(parts, part, ';');) {
    const size_t colon = part.find(':');
    requests[std::stoll(part.substr(0, colon))] = part.substr(colon + 1);
  }
  return requests;
}

void train(const Config& config, const std::map<int64_t, std::string>& requests,
           const Station& station) {
  const ModelMaker models = built_in_models();
  std::unique_ptr<Reporter> reporter;
  if (station.session.rank() == 0) {
    std::filesystem::create_directories(config.run.out);
    reporter = std::make_unique<Reporter>(
        Reporter::Options{.directory = config.run.out, .total_steps = config.run.steps});
  }
  int64_t step = 0;
  const auto asked = [&]() -> std::optional<std::string> {
    const auto request = requests.find(++step);
    if (request == requests.end()) return std::nullopt;
    return request->second;
  };
  const RunOrder order{.config = config,
                       .models = models,
                       .run_file = write_run_file(config),
                       .run_file_of = write_run_file,
                       .asked_to_replan = asked};
  Run run(order, station, reporter.get());
  run.begin_copies();
  if (reporter) reporter->open();
  (void)run.to_the_end();
}

int replanned(const Session& session, const std::vector<std::string>& arguments) {
  const auto all = starting_network(session);
  const Config config = shared_config(all->world(), {arguments.begin() + 1, arguments.end()}, true);
  const Grid grid = grid_of(config, session.ranks());
  const std::unique_ptr<Network> network = make_mpi_network(session, grid);
  const std::unique_ptr<Device> device = make_cpu_device(config.run.threads);
  train(config, requests_of(arguments.at(0)), {session, *network, grid, *device});
  return 0;
}

}  // namespace
}  // namespace penstock

int main(int argc, char** argv) {
  using namespace penstock;
  Session session(argc, argv);
  try {
    return replanned(session, {argv + 1, argv + argc});
  } catch (...) {
    return report(session, current_failure());
  }
}
