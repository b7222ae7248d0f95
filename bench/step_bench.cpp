// bench/step_bench.cpp -- whole training steps through the real engine, as often as asked.
//
//   step_bench [OPTIONS OF `penstock train`]          (one rank, or several on one host by mpirun)
//
// Builds what `penstock train` builds and then waits for lines on rank 0's standard input:
//   measure N   runs N steps; answers {"wall": [...], "cpu": [...], "rss": bytes}
//   regions N   runs N steps; answers {"outside": s, "all": s, "regions": n}
//   quit
// wall: seconds of each step on rank 0; cpu: user + system seconds of each, over all ranks; rss:
// the ranks' largest resident memory since the first answer, beyond what they held before there
// was a network. Between commands every rank sleeps, so that a peer measured in turn has the
// machine.
// outside, all, regions: processor seconds of rank 0's main thread outside of parallel regions,
// those of the whole process, and the regions, each of a step (region_clock.h).
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <fstream>
#include <iostream>
#include <memory>
#include <optional>

#include "bench/ranks.h"
#include "bench/region_clock.h"
#include "runtime/engine/pipeline/pipeline.h"
#include "runtime/engine/training/batches.h"
#include "runtime/engine/training/data_source.h"
#include "runtime/engine/training/step.h"

namespace penstock {
namespace {

using Clock = std::chrono::steady_clock;

double cpu_seconds() {
  rusage use{};
  getrusage(RUSAGE_SELF, &use);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  return seconds(use.ru_utime) + seconds(use.ru_stime);
}

// A figure of /proc/self/status in bytes.
double resident(const std::string& key) {
  std::ifstream file("/proc/self/status");
  std::string word;
  while (file >> word) {
    double kibibytes = 0.0;
    if (word == key && file >> kibibytes) return kibibytes * 1024.0;
  }
  return 0.0;
}

// Memory that is neither a file's (libraries) nor shared: now, and the most so far.
double own_memory() {
  return resident("RssAnon:");
}
double largest_own_memory() {
  return resident("VmHWM:") - resident("RssFile:") - resident("RssShmem:");
}

// Resets the largest resident size to the present one.
void forget_largest() {
  std::ofstream("/proc/self/clear_refs") << "5";
}

// Ranks other than 0 sleep until rank 0 has a command. The signal is blocked, so one that comes
// early is not lost.
class Bell {
 public:
  static void block() {
    const sigset_t set = signals();
    pthread_sigmask(SIG_BLOCK, &set, nullptr);
  }
  explicit Bell(Collective& world) : world_(world), ranks_(world.gather_to_all(getpid())) {}
  [[nodiscard]] std::string next() {
    std::string line = "quit";
    if (world_.rank() == 0) {
      if (!std::getline(std::cin, line)) line = "quit";
      for (size_t r = 1; r < ranks_.size(); ++r) kill(static_cast<pid_t>(ranks_[r]), SIGUSR1);
    } else {
      const sigset_t set = signals();
      int signal = 0;
      sigwait(&set, &signal);
    }
    return world_.broadcast(line, 0);
  }

 private:
  static sigset_t signals() {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    return set;
  }
  Collective& world_;
  std::vector<int64_t> ranks_;
};

// A run without reports, checkpoints and evaluation.
class Steps {
 public:
  Steps(const Config& config, const Station& station)
      : source_(config, built_in_models(), station.network.world()),
        blueprint_(draw_up(config, built_in_models(), source_.facts().vocabulary,
                           source_.facts().classes)),
        pipeline_(config, blueprint_, station.grid, station.network, station.device),
        step_(config, pipeline_, station) {
    source_.open(pipeline_.reads().fields);
    batches_.emplace(DataPart::Training, config, source_, pipeline_, station);
  }

  void run() {
    step_.begin(++taken_, batches_->next());
    loss_ = step_.run().loss;
  }

  void finish() { pipeline_.drain(); }
  [[nodiscard]] double loss() const { return loss_; }

 private:
  DataSource source_;
  Blueprint blueprint_;
  Pipeline pipeline_;
  Step step_;
  std::optional<Batches> batches_;
  double loss_ = 0.0;
  int64_t taken_ = 0;
};

void measure(Steps& steps, int count, Collective& world, double before) {
  std::vector<double> wall;
  std::vector<double> cpu;
  for (int i = 0; i < count; ++i) {
    world.barrier();
    const auto start = Clock::now();
    const double spent = cpu_seconds();
    steps.run();
    world.barrier();
    wall.push_back(std::chrono::duration<double>(Clock::now() - start).count());
    cpu.push_back(cpu_seconds() - spent);
  }
  world.sum(cpu);
  std::vector<double> most = {largest_own_memory() - before};
  world.sum(most);
  if (world.rank() == 0) {
    fmt::print(R"({{"wall": [{:.7f}], "cpu": [{:.7f}], "rss": {:.0f}, "loss": {:.5f}}})"
               "\n",
               fmt::join(wall, ", "), fmt::join(cpu, ", "), most[0], steps.loss());
    std::fflush(stdout);
  }
}

void count_regions(Steps& steps, int count, Collective& world) {
  start_region_clock();
  for (int i = 0; i < count; ++i) steps.run();
  const RegionTimes times = stop_region_clock();
  if (world.rank() == 0) {
    fmt::print(R"({{"outside": {:.9f}, "all": {:.9f}, "regions": {}}})"
               "\n",
               times.outside_s / count, times.all_s / count, times.regions / count);
    std::fflush(stdout);
  }
}

void serve(const Session& session, const std::vector<std::string>& arguments) {
  const auto [config, grid, device, network] = start_run(session, arguments);
  Bell bell(network->world());
  const double before = own_memory();
  Steps steps(config, {session, *network, grid, *device});
  bool first = true;
  for (std::string line = bell.next(); line != "quit"; line = bell.next()) {
    const int count = std::stoi(line.substr(line.find(' ')));
    if (line.starts_with("regions")) {
      count_regions(steps, count, network->world());
      continue;
    }
    measure(steps, count, network->world(), before);
    if (first) forget_largest();
    first = false;
  }
  steps.finish();
}

}  // namespace
}  // namespace penstock

int main(int argc, char** argv) {
  penstock::Bell::block();  // before MPI starts threads
  return penstock::run_ranks("step_bench", argc, argv, penstock::serve);
}
