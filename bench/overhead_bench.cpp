// bench/overhead_bench.cpp -- what an instruction costs that computes nothing.
//
// A network of one layer that hands its input on, one rank, many micro-batches: what is left of a
// pass is the executor, the stage, the tape and the clock. Prints {"instruction_us": [...]}, the
// mean over the instructions of each step.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <chrono>
#include <memory>

#include "launch/setup.h"
#include "runtime/engine/pipeline.h"

namespace penstock {
namespace {

class Empty final : public UnaryLayer {
 public:
  using UnaryLayer::UnaryLayer;
  [[nodiscard]] std::string kind() const override { return "empty"; }

 private:
  Variable run(Context& /*context*/, const Variable& x) override { return x; }
};

ModelMaker empty_network() {
  return {.input = [](const ModelConfig&) -> ModelInput {
            return {.field = "inputs", .shape = {16}, .dtype = DType::F32};
          },
          .build =
              [](const ModelConfig&, int64_t, int64_t) {
                Sequential model;
                model.inputs = {"inputs"};
                model.layers.push_back(std::make_unique<Empty>("empty"));
                return model;
              }};
}

int run(int argc, char** argv) {
  constexpr int kMicroBatches = 512;
  Session session(argc, argv);
  const std::unique_ptr<Device> device = make_cpu_device(1);
  Config config;
  config.pipeline.micro_batches = kMicroBatches;
  config.pipeline.recompute = "none";
  const Grid grid = grid_of(config, session.ranks());
  const std::unique_ptr<Network> network = make_mpi_network(session, grid);
  const Blueprint blueprint = draw_up(config, empty_network(), 0, 0);
  Pipeline pipeline(config, blueprint, grid, *network, *device);
  std::vector<Batch> batches(kMicroBatches);
  for (Batch& batch : batches) {
    batch.names = {"inputs"};
    batch.tensors.push_back(device->zeros({1, 16}, DType::F32, Purpose::Workspace));
    batch.samples = 1;
  }
  StepInput input;
  input.training = true;
  input.batches = batches;
  input.update = [] {};
  const size_t instructions = blueprint.programs.training.program[0].size();
  std::vector<double> microseconds;
  for (int step = 0; step < 60; ++step) {
    input.step = step;
    pipeline.begin_step();
    const auto start = std::chrono::steady_clock::now();
    pipeline.run(input);
    const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - start;
    if (step >= 10) microseconds.push_back(took.count() / static_cast<double>(instructions));
  }
  fmt::print(R"({{"instructions": {}, "instruction_us": [{:.4f}]}})"
             "\n",
             instructions, fmt::join(microseconds, ", "));
  return 0;
}

}  // namespace
}  // namespace penstock

int main(int argc, char** argv) {
  try {
    return penstock::run(argc, argv);
  } catch (const std::exception& error) {
    fmt::print(stderr, "overhead_bench: {}\n", error.what());
    return 1;
  }
}
