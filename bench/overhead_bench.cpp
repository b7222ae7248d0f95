// bench/overhead_bench.cpp -- what an instruction costs that computes nothing.
//
// A network of one layer that hands its input on, one rank, many micro-batches: what is left of a
// pass is the executor, the stage, the tape and the clock. Prints {"instruction_us": [...]}, the
// mean over the instructions of each step.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <chrono>
#include <memory>

#include "bench/ranks.h"
#include "runtime/engine/pipeline/executor.h"
#include "runtime/planning/blueprint/programs.h"

namespace penstock {
namespace {

class Empty final : public UnaryLayer {
 public:
  using UnaryLayer::UnaryLayer;
  [[nodiscard]] std::string kind() const override { return "empty"; }

 private:
  Variable run(Context& /*context*/, const Variable& x) const override { return x; }
};

void measure(const Session& session, const std::vector<std::string>& /*arguments*/) {
  constexpr int kMicroBatches = 512;
  const std::unique_ptr<Device> device = make_cpu_device(1);
  PipelineConfig config;
  config.micro_batches = kMicroBatches;
  config.recompute = "none";
  const Schedule schedule = make_programs(config).training;
  const std::unique_ptr<Network> network = starting_network(session);
  Layers layers;
  layers.push_back(std::make_unique<Empty>("empty"));
  Stage stage(layers, RecomputeMode::None, kMicroBatches, DType::F32, *device, {.first = true});
  stage.allocate(1);
  constexpr int kWindow = 1;
  Links links(*network, schedule, kWindow, false, *device);
  Executor executor(schedule, 0,
                    {.stages = {&stage},
                     .traffic = {.boundaries = {{{{1, 16}, DType::F32}}}, .skips = {}},
                     .inputs = {"inputs"},
                     .links = &links,
                     .device = device.get()});
  stage.set_progress([&executor] { executor.progress(); });
  std::vector<Batch> batches(kMicroBatches);
  for (Batch& batch : batches) {
    batch.names = {"inputs"};
    batch.tensors.push_back(device->zeros({1, 16}, DType::F32, Purpose::Workspace));
    batch.samples = 1;
  }
  StepInput input;
  input.batches = batches;
  input.update = [] {};
  const size_t instructions = schedule.program[0].size();
  std::vector<double> microseconds;
  for (int step = 0; step < 60; ++step) {
    input.pass.step = step;
    const auto start = std::chrono::steady_clock::now();
    executor.run(input);
    const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - start;
    if (step >= 10) microseconds.push_back(took.count() / static_cast<double>(instructions));
  }
  fmt::print(R"({{"instructions": {}, "instruction_us": [{:.4f}]}})"
             "\n",
             instructions, fmt::join(microseconds, ", "));
}

}  // namespace
}  // namespace penstock

int main(int argc, char** argv) {
  return penstock::run_ranks("overhead_bench", argc, argv, penstock::measure);
}
