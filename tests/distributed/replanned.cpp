// tests/distributed/replanned.cpp -- for replan_test.cpp: trains, and asks for re-plans in steps
// that are told.
//   replanned REQUESTS RUNFILE [options of `penstock train`]
// REQUESTS: "2:1,3;5:" asks in step 2 for one layer in the first stage and three in the second, and
// in step 5 for what the planner finds. "slow 1" asks for nothing, and makes rank 1 slow: each
// forward of a layer takes 120 ms more there, which no load of the machine comes near.
#include <chrono>
#include <filesystem>
#include <map>
#include <memory>
#include <sstream>
#include <thread>

#include "launch/program/failure.h"
#include "launch/program/options/run_file.h"
#include "launch/program/runs/planned_run.h"
#include "launch/program/runs/searched_schedule.h"
#include "launch/program/setup.h"
#include "runtime/engine/training/run.h"
#include "runtime/records/telemetry/reporter.h"

namespace penstock {
namespace {

constexpr const char* kSlow = "slow ";

// A layer whose forward takes longer, and is the same to the bit.
class SlowLayer final : public Layer {
 public:
  explicit SlowLayer(std::unique_ptr<Layer> as) : Layer(as->name()), as_(std::move(as)) {}
  [[nodiscard]] std::string kind() const override { return as_->kind(); }
  [[nodiscard]] Shapes infer(const Shapes& inputs) const override { return as_->infer(inputs); }
  void declare(ParameterSet& set) const override { as_->declare(set); }
  Variables forward(Context& context, const Variables& inputs) const override {
    std::this_thread::sleep_for(std::chrono::milliseconds(120));
    return as_->forward(context, inputs);
  }
  [[nodiscard]] std::vector<std::string> reads() const override { return as_->reads(); }
  [[nodiscard]] std::string targets() const override { return as_->targets(); }
  void end_step(const StepEnd& end) const override { as_->end_step(end); }

 private:
  std::unique_ptr<Layer> as_;
};

ModelMaker slow_models() {
  const ModelMaker usual = built_in_models();
  return {usual.input,
          [build = usual.build](const ModelConfig& config, int64_t vocabulary, int64_t classes) {
            Sequential model = build(config, vocabulary, classes);
            for (std::unique_ptr<Layer>& layer : model.layers) {
              layer = std::make_unique<SlowLayer>(std::move(layer));
            }
            return model;
          }};
}

bool is_slow(const std::string& requests, int rank) {
  return requests == kSlow + std::to_string(rank);
}

std::map<int64_t, std::string> requests_of(const std::string& text) {
  std::map<int64_t, std::string> requests;
  if (text.starts_with(kSlow)) return requests;
  std::istringstream parts(text);
  for (std::string part; std::getline(parts, part, ';');) {
    const size_t colon = part.find(':');
    requests[std::stoll(part.substr(0, colon))] = part.substr(colon + 1);
  }
  return requests;
}

void train(const Config& config, const std::string& words, const Station& station) {
  const std::map<int64_t, std::string> requests = requests_of(words);
  const ModelMaker models =
      is_slow(words, station.session.rank()) ? slow_models() : built_in_models();
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
                       .keep_schedule =
                           [&](const std::string& csv, const Certificate& certificate) {
                             keep_schedule(csv, certificate, config.run.out);
                           },
                       .asked_to_replan = asked};
  Run run(order, station, reporter.get());
  run.begin_copies();
  if (reporter) reporter->open();
  (void)run.to_the_end();
}

int replanned(const Session& session, const std::vector<std::string>& arguments) {
  const auto all = starting_network(session);
  Settings settings;
  const Config asked =
      shared_config(all->world(), {arguments.begin() + 1, arguments.end()}, true, &settings);
  const std::unique_ptr<Device> device = make_cpu_device(asked.run.threads);
  const Config config =
      planned_run(session, all->world(), settings, asked, device->model(), 0, built_in_models(), "")
          .config;
  const Grid grid = grid_of(config, session.ranks());
  const std::unique_ptr<Network> network = make_mpi_network(session, grid);
  train(config, arguments.at(0), {session, *network, grid, *device});
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
