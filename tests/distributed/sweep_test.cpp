// `penstock sweep` with real ranks: one that is disturbed in every way and started again ends with
// the table of one that was not.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <iterator>
#include <sstream>
#include <thread>

#include "tests/distributed/job.h"
#include "tests/support/temporary_folder.h"

namespace penstock {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

// The first three commands of a machine measure its processor, and one that finds it faster plans
// shorter steps from there on: the two sweeps of a test would differ in that.
const std::string kSweptRun = kTinyTransformer + R"([checkpoint]
every = 250
[run]
steps = 750
threads = 1
measure_processor = false
)";

// Two points, and one that has more stages than the network has layers.
std::string sweep_text(const std::string& launcher, int repeats) {
  return "[sweep]\nrun = \"run.toml\"\nlauncher = \"" + launcher +
         "\"\nrepeats = " + std::to_string(repeats) + "\n[grid]\nstages = [1, 2, 99]\n";
}

class SweepRuns : public testing::Test {
 protected:
  struct End {
    int exit_code;
    std::string table;  // table.csv
    std::string runs;   // runs.csv
  };

  // Not by a shell, so that signals reach it and it alone.
  pid_t start(const std::string& file, const std::string& out) const {
    const std::string program = penstock_program();
    const std::string log = scratch_ / "log";
    const pid_t process = fork();
    if (process != 0) return process;
    const int to = open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0644);
    (void)dup2(to, 1);
    (void)dup2(to, 2);
    execl(program.c_str(), program.c_str(), "sweep", file.c_str(), "--out", out.c_str(), nullptr);
    _exit(127);
  }
  // Sends the signal, if any, when the point has taken some steps.
  End run(const std::string& file, const std::string& out, const std::string& point = "",
          int signal = 0) const {
    const pid_t process = start(file, out);
    if (signal != 0) {
      const std::string metrics = out + "/points/" + point + "/metrics.jsonl";
      std::error_code absent;
      for (int i = 0; i < 3000; ++i) {
        const auto size = std::filesystem::file_size(metrics, absent);
        if (!absent && size > 2000) break;
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
      }
      kill(process, signal);
    }
    int status = 0;
    waitpid(process, &status, 0);
    const int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    std::error_code absent;
    if (!std::filesystem::exists(out + "/table.csv", absent)) return {code, "", ""};
    return {code, read_file(out + "/table.csv"), read_file(out + "/runs.csv")};
  }
  // The columns that the documentation promises to be the same: up to the loss.
  static std::string settled(const std::string& table) {
    std::string text;
    size_t columns = 0;
    std::istringstream lines(table);
    for (std::string line; std::getline(lines, line);) {
      if (columns == 0) {
        const std::string head = line.substr(0, line.find(",step_ms,"));
        columns = static_cast<size_t>(std::count(head.begin(), head.end(), ',')) + 1;
      }
      size_t end = 0;
      for (size_t i = 0; i < columns; ++i) end = line.find(',', end) + 1;
      text += line.substr(0, end) + "\n";
    }
    return text;
  }
  [[nodiscard]] std::string log() const { return read_file(scratch_ / "log"); }

  TemporaryFolder scratch_;
  std::string run_file_ = scratch_.write("run.toml", kSweptRun);
  std::string file_ =
      scratch_.write("sweep.toml", sweep_text(ranks_script() + " -q -n {ranks}", 2));
};

TEST_F(SweepRuns, ADisturbedSweepEndsWithTheTableOfAnUndisturbedOne) {
  const std::string calm = scratch_ / "calm";
  const std::string rough = scratch_ / "rough";
  const End undisturbed = run(file_, calm);
  ASSERT_EQ(undisturbed.exit_code, 0) << log();
  EXPECT_THAT(undisturbed.table, HasSubstr(",skipped,\"99 stages need at least as many layers"));
  for (const char* plot : {"throughput.svg", "efficiency.svg"}) {
    EXPECT_THAT(
        read_file(calm + "/" + plot),
        AllOf(HasSubstr("line ideal"), HasSubstr("line planned"), HasSubstr("line measured")));
  }
  // A launcher that is none: both points fail, are named, and are tried again the next
  // time, which asks for a repeat as well.
  const End failed = run(scratch_.write("broken.toml", sweep_text("false", 1)), rough);
  EXPECT_EQ(failed.exit_code, 1);
  EXPECT_THAT(failed.table, AllOf(HasSubstr(",1,,"), HasSubstr("k2-d1-m2-1f1b")));
  EXPECT_THAT(failed.table, HasSubstr(",failed,exit code 1: nothing was said,0,"));

  EXPECT_EQ(run(file_, rough, "k1-d1-m2-1f1b", SIGKILL).exit_code, 128 + SIGKILL);
  const End stopped = run(file_, rough, "k2-d1-m2-1f1b", SIGTERM);
  EXPECT_EQ(stopped.exit_code, 75) << log();
  // The ranks of the sweep that was killed were not in the way.
  EXPECT_THAT(stopped.table, Not(HasSubstr(",failed,")));
  const End disturbed = run(file_, rough);
  EXPECT_EQ(disturbed.exit_code, 0) << log();
  EXPECT_EQ(settled(disturbed.table), settled(undisturbed.table));
  EXPECT_EQ(settled(disturbed.runs), settled(undisturbed.runs));
  EXPECT_EQ(std::count(undisturbed.runs.begin(), undisturbed.runs.end(), '\n'), 1 + 2 * 2 + 1);
  for (const char* run :
       {"k1-d1-m2-1f1b", "k2-d1-m2-1f1b", "k1-d1-m2-1f1b-r2", "k2-d1-m2-1f1b-r2"}) {
    const std::string last = std::string("/points/") + run + "/checkpoints/step-00000750";
    EXPECT_EQ(read_checkpoint(rough + last), read_checkpoint(calm + last)) << run;
  }
}

// The number of processes whose command line names that directory: launchers and ranks.
size_t processes_of(const std::string& directory) {
  size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    std::ifstream in(entry.path() / "cmdline");
    const std::string line((std::istreambuf_iterator<char>(in)), {});
    if (line.find(directory) != std::string::npos) ++count;
  }
  return count;
}

// They would train for ever.
TEST_F(SweepRuns, AKilledSweepTakesItsRanksWithIt) {
  const std::string file =
      scratch_.write("endless.toml", "[sweep]\nrun = \"run.toml\"\nlauncher = \"" + ranks_script() +
                                         " -q -n {ranks}\"\n[set]\nsteps = 100000000\n");
  const std::string out = scratch_ / "endless";
  EXPECT_EQ(run(file, out, "k1-d1-m2-1f1b", SIGKILL).exit_code, 128 + SIGKILL);
  for (int i = 0; i < 1000 && processes_of(out) > 0; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  EXPECT_EQ(processes_of(out), 0U);
}

}  // namespace
}  // namespace penstock
