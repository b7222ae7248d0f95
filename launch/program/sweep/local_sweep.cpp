#include "launch/program/sweep/local_sweep.h"

#include <fmt/format.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <thread>

#include "kernels/error.h"
#include "launch/program/output.h"
#include "launch/program/stopping/stop_signals.h"
#include "launch/program/sweep/child.h"
#include "launch/program/sweep/directory.h"
#include "launch/program/sweep/launch_words.h"
#include "runtime/records/run_directory/lock/lock_file.h"
#include "runtime/records/run_directory/names.h"
#include "runtime/records/telemetry/units.h"
#include "runtime/system/files/atomic_file.h"
#include "runtime/system/files/input_file.h"

namespace penstock {
namespace {

namespace fs = std::filesystem;

constexpr int kPauseMs = 20;

bool was_asked_to_stop() {
  return !stop_signal().empty();
}

bool is_held(const std::string& directory) {
  return living_holder(directory + "/" + kLockFile).has_value();
}

// Waits for the ranks of a killed sweep, which end a moment after it.
void wait_for_others(const std::string& directory) {
  constexpr int kMostMs = 30'000;
  for (int ms = 0; ms < kMostMs && is_held(directory) && !was_asked_to_stop(); ms += kPauseMs) {
    std::this_thread::sleep_for(std::chrono::milliseconds(kPauseMs));
  }
}

uint64_t size_of(const std::string& file) {
  std::error_code error;
  const uintmax_t size = fs::file_size(file, error);
  return error ? 0 : static_cast<uint64_t>(size);
}

// The text in `file` from byte `begin` on, at most the last 64 KiB of it.
std::string printed_since(const std::string& file, uint64_t begin) {
  constexpr uint64_t kMost = 64 << 10;
  const InputFile output(file, FileOwner::Run);
  const uint64_t end = output.size_bytes();
  begin = std::max(begin, end > kMost ? end - kMost : 0);
  std::string text(static_cast<size_t>(end - begin), '\0');
  output.read(begin, text.data(), text.size());
  return text;
}

// The reason of a failure: the program's own error line, or else the first line, since launchers
// begin with what is wrong.
std::string reason_of(int exit_code, const std::string& printed) {
  const std::string mark = "penstock: error: ";
  std::string first;
  std::string error;
  std::istringstream lines(printed);
  for (std::string line; std::getline(lines, line);) {
    const size_t at = line.find(mark);
    if (at != std::string::npos) error = line.substr(at + mark.size());
    if (first.empty() && line.find_first_not_of(" \t\r-") != std::string::npos) first = line;
  }
  if (error.empty()) error = first.empty() ? "nothing was said" : first;
  return one_line(fmt::format("exit code {}: {}", exit_code, error));
}

struct RunEnd {
  int exit_code = 0;
  std::string printed = {};
};

RunEnd run_to_end(const SweepFile& sweep, const PointRun& run, const std::string& directory) {
  const PointStart start{.program = this_program(),
                         .directory = fs::absolute(directory).lexically_normal().string(),
                         .more = extra_words(sweep)};
  const std::string output = directory + "/" + kOutputFile;
  const uint64_t begin = size_of(output);
  Child child(local_words(sweep, run, start), output);
  bool is_told = false;
  while (!child.ends_within(kPauseMs)) {
    if (is_told || !was_asked_to_stop()) continue;
    child.send(SIGUSR1);  // mpirun and srun hand it on to every rank
    is_told = true;
  }
  return {child.exit_code(), printed_since(output, begin)};
}

std::string result_text(const Outcome& outcome, double seconds) {
  if (outcome.state != PointState::Finished) {
    return fmt::format("{}: {}", word_of(outcome.state), outcome.reason);
  }
  // A dry run has no times.
  if (!outcome.step_ms) return "finished in " + seconds_text(seconds);
  return fmt::format("{:.4g} ms a step, finished in {}", outcome.step_ms->median,
                     seconds_text(seconds));
}

class LocalSweep {
 public:
  LocalSweep(const SweepFile& sweep, const SweepRecord& record, const std::string& directory)
      : sweep_(sweep), record_(record), directory_(directory) {}

  int run() {
    // Open MPI's own paragraphs about exit codes are left out, by any mpirun that can.
    (void)setenv("OMPI_MCA_orte_execute_quiet", "1", 0);
    // All points are run once before any is repeated: what disturbs the machine for a while then
    // disturbs one run of several points, and not all runs of one.
    for (int repeat = 1; repeat <= record_.repeats; ++repeat) {
      for (size_t i = 0; i < record_.points.size(); ++i) {
        if (was_asked_to_stop()) return kStoppedExitCode;
        if (!is_to_run(i, repeat)) continue;
        const PointRun run{.point = record_.points[i], .repeat = repeat};
        announce(run, static_cast<size_t>(repeat - 1) * record_.points.size() + i + 1);
        if (!run_one(run)) return kStoppedExitCode;
        if (failure_ != 0 && sweep_.stops_on_failure) return failure_;
      }
    }
    return was_asked_to_stop() ? kStoppedExitCode : failure_;
  }

 private:
  [[nodiscard]] bool is_to_run(size_t point, int repeat) const {
    const PointState state =
        outcome_of(directory_, record_.points[point], repeat, record_.warmup).state;
    return state != PointState::Skipped && state != PointState::Finished;
  }

  void announce(const PointRun& run, size_t number) const {
    const size_t all = static_cast<size_t>(record_.repeats) * record_.points.size();
    answer("{}/{} {} on {}: ", number, all, run.name(),
           amount_text(run.point.sizes.ranks(), "rank"));
  }

  // Runs a point once. False where it was stopped on request.
  bool run_one(const PointRun& run) {
    const std::string directory = run_directory(directory_, run.point, run.repeat);
    const auto outcome_now = [&] {
      return outcome_of(directory_, run.point, run.repeat, record_.warmup);
    };
    const std::string failure = directory + "/" + kFailureFile;
    const auto begin = std::chrono::steady_clock::now();
    wait_for_others(directory);
    std::error_code absent;
    fs::remove(failure, absent);
    const RunEnd end = run_to_end(sweep_, run, directory);
    if (was_asked_to_stop() || end.exit_code == kStoppedExitCode) {
      answer("stopped; the same command goes on\n");
      (void)write_results(directory_, record_);
      return false;
    }
    Outcome outcome = outcome_now();
    if (end.exit_code != 0 || outcome.state != PointState::Finished) {
      replace_file(failure, reason_of(end.exit_code, end.printed) + "\n");
      outcome = outcome_now();
      if (failure_ == 0) failure_ = end.exit_code != 0 ? end.exit_code : 1;
    }
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    answer("{}\n", result_text(outcome, took.count()));
    (void)write_results(directory_, record_);
    return true;
  }

  const SweepFile& sweep_;
  const SweepRecord& record_;
  std::string directory_;
  int failure_ = 0;
};

}  // namespace

int run_locally(const SweepFile& sweep, const SweepRecord& record, const std::string& directory) {
  catch_stop_signals();
  return LocalSweep(sweep, record, directory).run();
}

}  // namespace penstock
