// How long schedules of large pipelines take to make, lower, verify, find a window of messages for
// and simulate, and how much memory: a program run by hand.
//
//   schedule_scale [RANKS [MICRO_BATCHES [SCHEDULE ...]]]      256 ranks, 1024 micro-batches, all
//
// Lowered with everything in it: recomputes, reductions, updates. Every schedule runs in a process
// of its own, whose peak memory is its own too.
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <vector>

#include "runtime/planning/schedule/generators/known_schedules.h"
#include "runtime/planning/schedule/lower.h"
#include "runtime/planning/schedule/proof/verify.h"
#include "runtime/planning/schedule/proof/window.h"
#include "runtime/planning/schedule/timing/simulate.h"

namespace {

using namespace penstock;

// Prints the seconds since it was last asked.
class Stopwatch {
 public:
  void print() {
    const auto now = std::chrono::steady_clock::now();
    fmt::print(" {:8.2f}", std::chrono::duration<double>(now - last_).count());
    last_ = now;
  }

 private:
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

void measure(const std::string& name, int ranks, int micro_batches) {
  fmt::print("{:<18}", name);
  Stopwatch stopwatch;
  Schedule schedule = make_schedule(name, ranks, micro_batches);
  stopwatch.print();
  schedule = lower(schedule, {.recompute = true, .reduce = true, .update = true});
  stopwatch.print();
  (void)verify(schedule);
  stopwatch.print();
  const int window = message_window(schedule);
  stopwatch.print();
  PipelineCosts costs;
  costs.stage.assign(schedule.stages, StageTimes{});
  const Timeline timeline = simulate(schedule, costs);
  stopwatch.print();
  size_t instructions = 0;
  for (const auto& program : schedule.program) instructions += program.size();
  fmt::print(" {:>13} {:>12.0f} {:>9}", instructions, makespan(timeline), window);
}

// Runs measure() in a child and ends its line with the child's peak memory. False if it failed.
bool measure_apart(const std::string& name, int ranks, int micro_batches) {
  std::fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    try {
      measure(name, ranks, micro_batches);
      std::fflush(stdout);
      _exit(EXIT_SUCCESS);
    } catch (const std::exception& error) {
      fmt::print(" {}", error.what());
      std::fflush(stdout);
      _exit(EXIT_FAILURE);
    }
  }
  int status = 0;
  rusage usage{};
  wait4(child, &status, 0, &usage);
  fmt::print(" {:>9.2f}\n", static_cast<double>(usage.ru_maxrss) / (1 << 20));
  return status == 0;
}

}  // namespace

int main(int argc, char** argv) {
  const int ranks = argc > 1 ? std::atoi(argv[1]) : 256;
  const int micro_batches = argc > 2 ? std::atoi(argv[2]) : 1024;
  std::vector<std::string> names(argv + std::min(argc, 3), argv + argc);
  if (names.empty()) names = schedule_names();
  fmt::print("{} ranks x {} micro-batches; seconds, instructions, makespan, messages, GiB\n", ranks,
             micro_batches);
  fmt::print("{:<18} {:>8} {:>8} {:>8} {:>8} {:>8} {:>13} {:>12} {:>9} {:>9}\n", "schedule", "make",
             "lower", "verify", "window", "simulate", "instructions", "makespan", "messages",
             "peak GiB");
  bool all = true;
  for (const std::string& name : names) all = measure_apart(name, ranks, micro_batches) && all;
  return all ? EXIT_SUCCESS : EXIT_FAILURE;
}
