// bench/reduce_bench.cpp -- a sum over replicas beside the same sum by MPI_Allreduce.
//
//   mpirun -n D reduce_bench [MEGABYTES]
//
// The three take turns within one run: the engine's group, MPI_Allreduce from one buffer to
// another, and in place. Prints {"bytes": ..., "ours": [...], "MPI_Allreduce": [...], "in_place":
// [...]} in milliseconds, one figure for each of 11 turns.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <mpi.h>

#include <chrono>
#include <functional>
#include <memory>
#include <vector>

#include "bench/ranks.h"

namespace penstock {
namespace {

constexpr int kTurns = 11;

double milliseconds(const std::function<void()>& sum) {
  MPI_Barrier(MPI_COMM_WORLD);
  const auto start = std::chrono::steady_clock::now();
  sum();
  MPI_Barrier(MPI_COMM_WORLD);
  const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
  return took.count();
}

void measure(const Session& session, const std::vector<std::string>& arguments) {
  const int64_t bytes = (arguments.empty() ? 100 : std::stoll(arguments[0])) * 1'000'000;
  const std::unique_ptr<Network> network =
      make_mpi_network(session, {.positions = 1, .replicas = session.ranks()});
  const std::unique_ptr<Device> device = make_cpu_device(1);
  const std::unique_ptr<ReduceGroup> group = network->reduce_group(*device);
  const int64_t elements = bytes / 4;
  const auto count = static_cast<int>(elements);
  const Tensor gradients = device->zeros({elements}, DType::F32, Purpose::Gradients);
  std::vector<float> in(static_cast<size_t>(elements), 1.0F);
  std::vector<float> out(static_cast<size_t>(elements), 0.0F);
  const auto ours = [&] {
    group->start(gradients);
    group->finish();
  };
  const auto apart = [&] {
    MPI_Allreduce(in.data(), out.data(), count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
  };
  const auto in_place = [&] {
    MPI_Allreduce(MPI_IN_PLACE, out.data(), count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
  };
  std::vector<double> times[3];
  for (int turn = 0; turn <= kTurns; ++turn) {
    const double took[] = {milliseconds(ours), milliseconds(apart), milliseconds(in_place)};
    if (turn == 0) continue;  // the first warms up
    for (int i = 0; i < 3; ++i) times[i].push_back(took[i]);
  }
  if (session.rank() == 0) {
    fmt::print(
        R"({{"bytes": {}, "ours": [{:.3f}], "MPI_Allreduce": [{:.3f}], "in_place": [{:.3f}]}})"
        "\n",
        bytes, fmt::join(times[0], ", "), fmt::join(times[1], ", "), fmt::join(times[2], ", "));
  }
}

}  // namespace
}  // namespace penstock

int main(int argc, char** argv) {
  return penstock::run_ranks("reduce_bench", argc, argv, penstock::measure);
}
