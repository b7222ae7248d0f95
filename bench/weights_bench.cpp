// weights_bench: seconds in which every rank reads what it begins with, from a Hugging Face folder
// or from a checkpoint; bench/weights.py prints the table.
//
//   weights_bench CHECKPOINT|- RUNFILE.toml|--model.from DIR [--section.key value ...]
//
// Builds the network as `penstock train` does, then reads, and prints what the slowest rank took:
// of a checkpoint checksums too, as for going on; with `-` the folder's weights.
#include <fmt/format.h>

#include <chrono>
#include <string>
#include <vector>

#include "bench/ranks.h"
#include "kernels/error.h"
#include "runtime/engine/pipeline/pipeline.h"
#include "runtime/engine/training/checkpoints/from_folder.h"
#include "runtime/engine/training/checkpoints/resume.h"
#include "runtime/network/models/models.h"

namespace penstock {
namespace {

using Clock = std::chrono::steady_clock;

void run(const Session& session, const std::vector<std::string>& arguments) {
  if (arguments.size() < 2) fail_input("usage: weights_bench CHECKPOINT|- OPTIONS OF A RUN");
  const std::string& checkpoint = arguments.front();
  const auto [config, grid, device, network] =
      start_run(session, {arguments.begin() + 1, arguments.end()});
  const Blueprint blueprint =
      draw_up(config, built_in_models(), config.model.vocabulary, config.model.classes);
  Pipeline pipeline(config, blueprint, grid, *network, *device);
  network->world().barrier();
  const auto start = Clock::now();
  if (checkpoint == "-") {
    load_folder(config.model, pipeline, *device);
  } else {
    load_state(checkpoint, pipeline.state(), *device, network->world());
  }
  network->world().barrier();
  const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
  if (session.rank() == 0) fmt::print("{:.4f}\n", seconds);
}

}  // namespace
}  // namespace penstock

int main(int argc, char** argv) {
  return penstock::run_ranks("weights_bench", argc, argv, penstock::run);
}
