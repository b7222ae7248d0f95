// What a run directory survives, with the real program: another start, another job, a request to
// stop. What may begin in a directory, in all its cases: tests/unit/records/run_directory.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>

#include <chrono>
#include <functional>
#include <future>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <sstream>
#include <thread>

#include "runtime/records/checkpoint/reader.h"
#include "tests/distributed/job.h"
#include "tests/support/temporary_folder.h"

namespace penstock {
namespace {

using std::string_literals::operator""s;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

const std::string kSurvivor = kTinyTransformer + R"([run]
steps = 20
threads = 1
)";

// The program's processes whose command line names that directory, in the order of their ids:
// ranks, in the order of their ranks as long as ids have not begun again.
std::vector<pid_t> processes_naming(const std::string& program, const std::string& directory) {
  std::vector<pid_t> found;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const std::string name = entry.path().filename();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    std::ifstream in(entry.path() / "cmdline");
    std::string line((std::istreambuf_iterator<char>(in)), {});
    if (line.rfind(program, 0) == 0 && line.find(directory) != std::string::npos) {
      found.push_back(static_cast<pid_t>(std::stoi(name)));
    }
  }
  std::sort(found.begin(), found.end());
  return found;
}

// What has started ranks with that directory: mpirun or an mpiexec.
std::vector<pid_t> launchers_naming(const std::string& directory) {
  std::vector<pid_t> found;
  for (const pid_t process : processes_naming("", directory)) {
    const std::string line = read_file("/proc/" + std::to_string(process) + "/cmdline");
    const std::string program = std::filesystem::path(line.c_str()).filename();
    if (program.starts_with("mpirun") || program.starts_with("mpiexec")) found.push_back(process);
  }
  return found;
}

// Whether the process has said what it does about a signal.
bool catches(pid_t process, int signal) {
  std::ifstream status("/proc/" + std::to_string(process) + "/status");
  for (std::string line; std::getline(status, line);) {
    if (!line.starts_with("SigCgt:")) continue;
    return (std::stoull(line.substr(7), nullptr, 16) >> (signal - 1) & 1) == 1;
  }
  return false;
}

// Whether it holds in time. On a machine that is busy with other things a run of milliseconds takes
// a dozen seconds to start.
template <class Condition>
bool within_a_minute(const Condition& holds) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  while (!holds()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return true;
}

class Survival : public testing::Test {
 protected:
  [[nodiscard]] std::string train(const std::string& options) const {
    return "train " + file_ + " --out " + out_ + " " + options;
  }
  [[nodiscard]] std::map<std::string, std::string> files() const {
    std::map<std::string, std::string> all;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(out_)) {
      if (entry.is_regular_file()) all[entry.path()] = read_file(entry.path());
    }
    return all;
  }
  // The steps and attempts of metrics.jsonl, whose every line must be JSON.
  [[nodiscard]] std::vector<int64_t> steps() const {
    std::vector<int64_t> all;
    std::istringstream lines(read_file(out_ + "/metrics.jsonl"));
    for (std::string line; std::getline(lines, line);) {
      all.push_back(nlohmann::json::parse(line).at("step").get<int64_t>());
    }
    return all;
  }
  [[nodiscard]] nlohmann::json last_line() const {
    const std::string text = read_file(out_ + "/metrics.jsonl");
    return nlohmann::json::parse(text.substr(text.rfind('\n', text.size() - 2) + 1));
  }
  // Starts a run of as many steps as there can be (room was once made for all of their times), and
  // waits until it has made some.
  void start(int ranks, const std::string& options) {
    job_ = std::async(std::launch::async, [=, this] {
      const std::string arguments = train("--steps 1000000000000000 " + options);
      return ranks == 1 ? run_alone(arguments, 120) : run_penstock(ranks, arguments, 120);
    });
    const std::string metrics = out_ + "/metrics.jsonl";
    const bool made = within_a_minute([&] {
      std::error_code absent;
      return std::filesystem::file_size(metrics, absent) > 1000 && !absent;
    });
    ASSERT_TRUE(made) << "no step in " << metrics;
  }
  // Ends with 75, a whole checkpoint of its last step and a line that says how to go on.
  void expect_stop(const std::string& by) {
    const JobResult job = job_.get();
    EXPECT_EQ(job.exit_code, 75) << job.output;
    // Where all ranks get a signal, another may have voted for the stop before rank 0 got its own.
    const auto is_reason = [&by](const std::string& before) {
      return testing::AnyOf(
          HasSubstr(before + by),
          HasSubstr(before + (by == "SIGUSR1" ? "a signal to another rank" : by)));
    };
    EXPECT_THAT(job.output, is_reason(", by "));
    EXPECT_THAT(job.output, HasSubstr("train " + out_ + "/run.toml --resume auto"));
    EXPECT_THAT(job.output, Not(HasSubstr("error")));
    char name[32];
    std::snprintf(name, sizeof(name), "step-%08ld", static_cast<long>(steps().back()));
    CheckpointReader(out_ + "/checkpoints/" + name).verify();
    const auto summary = nlohmann::json::parse(read_file(out_ + "/summary.json"));
    EXPECT_EQ(summary.at("steps"), steps().back());
    EXPECT_THAT(summary.at("stopped").get<std::string>(), is_reason(""));
    EXPECT_FALSE(std::filesystem::exists(out_ + "/run.lock"));
  }

  TemporaryFolder scratch_;
  std::string file_ = scratch_.write("run.toml", kSurvivor);
  std::string out_ = scratch_ / "run";
  std::future<JobResult> job_;
};

// What a batch system does that starts a job again: it used to cost metrics and log, and with
// fewer steps the newest checkpoint was that of the first run.
TEST_F(Survival, StartingAgainDestroysNothing) {
  const JobResult first =
      run_penstock(2, train("--stages 2 --checkpoint.every 10 --checkpoint.keep 2"));
  ASSERT_EQ(first.exit_code, 0) << first.output;
  const auto before = files();
  const std::string fewer = "--steps 10 --checkpoint.every 5 --checkpoint.keep 2 ";
  const JobResult again = run_penstock(2, train(fewer + "--stages 2"));
  EXPECT_EQ(again.exit_code, 2);
  for (const char* way : {"--resume auto", "another --out", "--overwrite"}) {
    EXPECT_THAT(again.output, HasSubstr(way));
  }
  EXPECT_EQ(files(), before);

  const JobResult replaced = run_alone(train(fewer + "--overwrite"));
  ASSERT_EQ(replaced.exit_code, 0) << replaced.output;
  EXPECT_EQ(steps().size(), 10U);
  std::vector<std::string> kept;
  for (const auto& entry : std::filesystem::directory_iterator(out_ + "/checkpoints")) {
    kept.push_back(entry.path().filename());
  }
  EXPECT_THAT(kept, testing::IsSupersetOf({"step-00000005", "step-00000010"}));
  EXPECT_THAT(kept, Not(testing::Contains("step-00000020")));
  const JobResult used = run_alone("eval " + out_ + " --stages 1 --data.validation 0.01");
  EXPECT_THAT(used.output, HasSubstr("checkpoints/step-00000010: "));
}

// A key that did not fit the network, or a text that was empty, was found when the earlier run's
// checkpoints were gone; and a run that had not begun was the one that runs/latest led to.
TEST_F(Survival, ARunThatCannotBeginChangesNothing) {
  const JobResult first = run_alone(train(""));
  ASSERT_EQ(first.exit_code, 0) << first.output;
  const auto before = files();
  const std::string empty = scratch_.write("empty.txt", "");
  const std::string fresh = scratch_ / "fresh";
  for (const std::string& mistake :
       {"--model.width 15 "s, "--data.kind text --data.train " + empty + " ",
        "--init " + scratch_.write("no_run", "") + " "}) {
    for (const int ranks : {1, 2}) {
      const std::string stages = "--stages " + std::to_string(ranks);
      const JobResult job = run_penstock(ranks, train(mistake + "--overwrite " + stages));
      EXPECT_EQ(job.exit_code, 2) << job.output;
      EXPECT_TRUE(files() == before) << mistake;
      EXPECT_EQ(run_penstock(ranks, train(mistake + stages + " --out " + fresh)).exit_code, 2);
      EXPECT_FALSE(std::filesystem::exists(fresh)) << mistake;
    }
  }
}

// Where a size of the network follows from the data, a start that was refused left folders behind,
// and, after all the time that it takes to make it, a vocabulary.
TEST_F(Survival, ARefusedStartLeavesNothing) {
  std::string text;
  for (int i = 0; i < 60; ++i) text += "water number " + std::to_string(i * i) + " falls\n";
  const std::string words =
      " --model.vocabulary 0 --data.kind text --data.tokenizer sentencepiece "
      "--data.vocabulary_size 40 --data.train " +
      scratch_.write("words.txt", text);
  const std::string tokens = " --model.vocabulary 0 --data.kind tokens --data.train " +
                             scratch_.write("ids.bin", std::string(4000, '\1'));
  const std::string out = " --out " + scratch_ / "new/folder/run";
  for (const std::string& mistake : {words + " --stages 2", words + " --model.width 15",
                                     tokens + " --stages 2", tokens + " --model.width 15"}) {
    const JobResult job = run_alone("train " + file_ + mistake + out);
    EXPECT_EQ(job.exit_code, 2) << job.output;
    const bool of_ranks = mistake.ends_with("--stages 2");
    EXPECT_THAT(job.output, HasSubstr(of_ranks ? "need 2 ranks" : "width 15"));
    EXPECT_FALSE(std::filesystem::exists(scratch_ / "new")) << mistake;
  }
}

TEST_F(Survival, TwoJobsWithOneDirectoryAreRefused) {
  start(1, "");
  for (const char* how : {"--resume auto", "--overwrite"}) {
    const JobResult second = run_alone(train(how));
    EXPECT_EQ(second.exit_code, 2) << second.output;
    EXPECT_THAT(second.output, HasSubstr(out_ + " is being written by process "));
  }
  std::ofstream(out_ + "/stop");
  expect_stop("the file stop");
}

TEST_F(Survival, AStoppedRunGoesOnWhereItWas) {
  start(1, "--time-limit 0:05 --checkpoint.keep 2");
  expect_stop("the time limit");
  // The command that the stopped run has printed makes it go on, to its end.
  const int64_t stopped_at = steps().back();
  const std::string on =
      "train " + out_ + "/run.toml --resume auto --steps " + std::to_string(stopped_at + 3) + " ";
  const JobResult job = run_alone(on);
  ASSERT_EQ(job.exit_code, 0) << job.output;
  EXPECT_THAT(job.output, HasSubstr("attempt 2"));
  std::vector<int64_t> all(static_cast<size_t>(stopped_at + 3));
  std::iota(all.begin(), all.end(), 1);
  EXPECT_EQ(steps(), all);
  EXPECT_EQ(last_line().at("attempt"), 2);
  const auto before = files();
  const JobResult done = run_alone(on);
  EXPECT_EQ(done.exit_code, 0);
  EXPECT_THAT(done.output, HasSubstr("nothing is left to train"));
  EXPECT_EQ(files(), before);
}

// The batch system lets a job run on for a moment after its end; a step begun then was cut off in
// its checkpoint.
TEST_F(Survival, AStartPastTheEndOfTheBatchJobTakesNoStep) {
  setenv("SLURM_JOB_END_TIME", "1700000000", 1);
  for (const int ranks : {1, 2}) {
    const std::string arguments = train("--stages " + std::to_string(ranks));
    const JobResult job = ranks == 1 ? run_alone(arguments) : run_penstock(ranks, arguments, 60);
    EXPECT_EQ(job.exit_code, 75) << job.output;
    EXPECT_THAT(job.output, HasSubstr("penstock: stopped: the batch job's time was over "));
    EXPECT_FALSE(std::filesystem::exists(out_));
  }
  unsetenv("SLURM_JOB_END_TIME");
}

TEST_F(Survival, ADirectoryThatIsMovedUnderARunIsToldAsThat) {
  start(2, "--stages 2");
  const std::string away = scratch_ / "away";
  std::filesystem::rename(out_, away);
  const JobResult job = job_.get();
  EXPECT_EQ(job.exit_code, 3) << job.output;
  EXPECT_THAT(job.output,
              HasSubstr(out_ + " was moved to " + away + " while the run was going on"));
  EXPECT_FALSE(std::filesystem::exists(out_)) << "nothing is written where it was";
}

TEST_F(Survival, ASignalToMpirunStopsAllRanks) {
  start(2, "--stages 2");
  const auto launchers = launchers_naming(out_);
  ASSERT_EQ(launchers.size(), 1U);
  ASSERT_EQ(kill(launchers[0], SIGUSR1), 0);
  expect_stop("SIGUSR1");
}

// `penstock train ... | head` ended the run with 141 and without a checkpoint.
TEST_F(Survival, ARunWhoseOutputNobodyReadsGoesOn) {
  const std::string command = penstock_program() + " " + train("--steps 60 --log-every 1");
  const std::string line = "bash -c 'set -o pipefail; " + command + " | head -1 > /dev/null'";
  EXPECT_EQ(std::system(line.c_str()), 0);
  EXPECT_EQ(steps().back(), 60);
  EXPECT_THAT(read_file(out_ + "/log.txt"), HasSubstr("step 60/60"));
  EXPECT_TRUE(std::filesystem::exists(out_ + "/checkpoints/latest"));
}

// A rank that took the memory of its host for hours heard no signal any more.
TEST_F(Survival, ARunThatIsFarTooLargeIsRefused) {
  const JobResult job = run_alone(train("--micro-batch-size 1000000000"));
  EXPECT_EQ(job.exit_code, 3) << job.output;
  EXPECT_THAT(job.output, AllOf(HasSubstr("error: this rank needs "), HasSubstr(", and may use "),
                                HasSubstr("smaller micro-batches")));
  EXPECT_FALSE(std::filesystem::exists(out_ + "/checkpoints"));
}

// An evaluation of minutes went on to its end, and the time that a batch system grants was over.
TEST_F(Survival, AStopEndsALongEvaluation) {
  start(2, "--stages 2 --data.samples 4000000 --data.validation 0.5 --eval-every 40");
  while (steps().size() < 40) std::this_thread::sleep_for(std::chrono::milliseconds(20));
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  const auto launchers = launchers_naming(out_);
  ASSERT_EQ(launchers.size(), 1U);
  ASSERT_EQ(kill(launchers[0], SIGUSR1), 0);
  expect_stop("SIGUSR1");
  EXPECT_EQ(steps().back(), 40);
  EXPECT_THAT(read_file(out_ + "/log.txt"),
              HasSubstr("the evaluation after step 40 is put off, since a stop was asked for"));
}

// What metrics.jsonl says, but for times and attempts.
std::vector<std::string> untimed_lines(const std::string& directory) {
  std::vector<std::string> all;
  std::istringstream lines(read_file(directory + "/metrics.jsonl"));
  for (std::string line; std::getline(lines, line);) {
    auto json = nlohmann::json::parse(line);
    for (const char* key : {"attempt", "seconds", "step_ms", "data_wait_ms", "throughput",
                            "tokens_per_s", "tflops", "mfu", "peak_tflops"}) {
      json.erase(key);
    }
    all.push_back(json.dump());
  }
  return all;
}

// One that a stop cut short in the middle of a run was never made up; the last one was left out
// with exit code 0, and the table showed that of an earlier step as if it were of the last.
TEST_F(Survival, EvaluationsThatWereDueAreDone) {
  const std::string how =
      "--steps 20 --eval-every 10 --data.samples 40000 --data.validation 0.5 --resume auto";
  const std::string whole = scratch_ / "whole";
  ASSERT_EQ(run_alone(train(how + " --out " + whole)).exit_code, 0);
  const std::string metrics = out_ + "/metrics.jsonl";
  const auto says = [](const std::string& file, const std::string& words) {
    return std::filesystem::exists(file) && read_file(file).find(words) != std::string::npos;
  };
  for (const int64_t step : {10, 20}) {
    const std::string number = std::to_string(step);
    const std::string put_off =
        "the evaluation after step " + number + " is put off, since a stop was asked for";
    const std::string before = scratch_ / ("before" + number);
    if (step == 20) std::filesystem::copy(out_, before, std::filesystem::copy_options::recursive);
    // On a busy machine the evaluation, or the run, can be over before the signal is sent. Then
    // what the run left is taken away, and it is tried again.
    for (int attempt = 0; attempt < 5 && !says(out_ + "/log.txt", put_off); ++attempt) {
      if (attempt > 0) std::filesystem::remove_all(out_);
      if (attempt > 0 && step == 20)
        std::filesystem::copy(before, out_, std::filesystem::copy_options::recursive);
      job_ = std::async(std::launch::async, [&] { return run_alone(train(how), 120); });
      ASSERT_TRUE(within_a_minute([&] { return says(metrics, "{\"step\":" + number + ","); }));
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
      const auto ranks = processes_naming(penstock_program(), out_);
      if (!ranks.empty()) (void)kill(ranks[0], SIGTERM);
      job_.wait();
    }
    expect_stop("SIGTERM");
    EXPECT_EQ(steps().back(), step);
    const std::string log = read_file(out_ + "/log.txt");
    EXPECT_THAT(log, HasSubstr(put_off));
    if (step == 20) {
      EXPECT_THAT(log, HasSubstr(" on validation data after step 10"));
    }
  }
  const JobResult last = run_alone(train(how));
  EXPECT_EQ(last.exit_code, 0) << last.output;
  EXPECT_EQ(untimed_lines(out_), untimed_lines(whole));
  const auto summary = nlohmann::json::parse(read_file(out_ + "/summary.json"));
  const auto expected = nlohmann::json::parse(read_file(whole + "/summary.json"));
  EXPECT_EQ(summary.at("final_loss"), expected.at("final_loss"));
  EXPECT_EQ(summary.at("final_eval").at("loss"), expected.at("final_eval").at("loss"));
  EXPECT_THAT(last.output, Not(HasSubstr("nan")));
  EXPECT_THAT(run_alone(train(how)).output, HasSubstr("nothing is left to train"));
}

// A stop was heard when texts had been cut, which may take an hour, or killed a process that was
// about to start MPI.
TEST_F(Survival, AStopBeforeTheFirstStepIsHeard) {
  std::string line;
  for (int i = 0; i < 20; ++i) line += "water number " + std::to_string(i * i) + " falls ";
  std::string text;
  for (int i = 0; i < 100; ++i) text += line + std::to_string(i) + "\n";
  const std::string words = " --model.vocabulary 0 --data.kind text --data.tokenizer sentencepiece";
  const JobResult small =
      run_alone(train(words + " --data.vocabulary_size 320 --steps 1 --data.train " +
                      scratch_.write("small.txt", text)));
  ASSERT_EQ(small.exit_code, 0) << small.output;
  std::string pieces;
  for (const auto& entry : std::filesystem::directory_iterator(out_)) {
    if (entry.path().extension() == ".model") pieces = entry.path();
  }
  std::string large;
  while (large.size() < size_t{150} << 20) large += text;
  const std::string file = scratch_.write("large.txt", large);
  const std::string fresh = scratch_ / "fresh";
  for (const int how : {0, 1, 2}) {  // a signal to the rank, or, the third time, the file `stop`
    const size_t rank = how % 2;
    job_ = std::async(std::launch::async, [&] {
      return run_penstock(2, "train " + file_ + " --out " + fresh + words + " --stages 2" +
                                 " --data.vocabulary " + pieces + " --data.train " + file);
    });
    std::vector<pid_t> ranks;
    ASSERT_TRUE(within_a_minute([&] {
      ranks = processes_naming(penstock_program(), fresh);
      return ranks.size() == 2 && catches(ranks[0], SIGTERM) && catches(ranks[1], SIGTERM);
    }));
    // One begins to read, the other to wait for it.
    if (how > 0) std::this_thread::sleep_for(std::chrono::seconds(1));
    const auto start = std::chrono::steady_clock::now();
    if (how == 2) {
      (void)scratch_.write("fresh/stop", "");
    } else {
      ASSERT_EQ(kill(ranks[rank], SIGTERM), 0);
    }
    const JobResult job = job_.get();
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    EXPECT_EQ(job.exit_code, 75) << job.output;
    EXPECT_LT(took.count(), 6.0) << "reading goes on for longer";
    EXPECT_THAT(job.output, HasSubstr("penstock: stopped: "));
    EXPECT_THAT(job.output, HasSubstr(std::string(how == 2 ? "the file stop" : "SIGTERM") +
                                      " before the first step"));
    EXPECT_THAT(job.output, Not(HasSubstr("error")));
    EXPECT_FALSE(std::filesystem::exists(fresh + "/metrics.jsonl"));
  }
}

TEST_F(Survival, ASignalToOneRankStopsAll) {
  start(2, "--stages 2");
  const auto ranks = processes_naming(penstock_program(), out_);
  ASSERT_EQ(ranks.size(), 2U);
  ASSERT_EQ(kill(ranks[1], SIGTERM), 0);
  expect_stop("");  // rank 0 may be either of the two
}

// A rank is killed on two hosts' worth of ranks, and then there is only one.
TEST_F(Survival, SuperviseGoesOnWithTheRanksThatAreLeft) {
  const std::string ranks = scratch_.write("ranks", "2");
  auto job = std::async(std::launch::async, [&] {
    return run_words(PENSTOCK_SOURCE "/launch/supervise.sh --delay 0 --ranks-command 'cat " +
                         ranks + "' --mpirun '" + ranks_script() + " -q' --program " +
                         penstock_program() + " -- " + file_ + " --out " + out_ +
                         " --stages 2 --steps 4000 --checkpoint.every 500",
                     120);
  });
  const std::string checkpoint = out_ + "/checkpoints/step-00000500/manifest.json";
  ASSERT_TRUE(within_a_minute([&] { return std::filesystem::exists(checkpoint); }));
  (void)scratch_.write("ranks", "1");
  const auto running = processes_naming(penstock_program(), out_);
  ASSERT_EQ(running.size(), 2U);
  ASSERT_EQ(kill(running[1], SIGKILL), 0);
  const JobResult result = job.get();
  EXPECT_EQ(result.exit_code, 0) << result.output;
  EXPECT_THAT(result.output, HasSubstr("supervise: 1 ranks now, 2 before: planned anew"));
  EXPECT_THAT(result.output, HasSubstr("resumed after step "));
  EXPECT_EQ(last_line().at("step"), 4000);
  EXPECT_EQ(last_line().at("attempt"), 2);
  EXPECT_THAT(read_file(out_ + "/run.toml"), HasSubstr("\nstages = 1\n"));
}

// The input never says anything, so a program that waits for it first waits for ever.
TEST_F(Survival, WhatIsWrongIsSaidBeforeInputIsWaitedFor) {
  const std::string input = scratch_ / "input";
  ASSERT_EQ(mkfifo(input.c_str(), 0600), 0);
  const std::string silent = " 0<>" + input;
  for (const char* command : {"generate ", "translate "}) {
    const JobResult no_file = run_alone(command + scratch_ / "absent.toml" + silent, 20);
    EXPECT_EQ(no_file.exit_code, 2) << no_file.output;
    EXPECT_THAT(no_file.output, HasSubstr("absent.toml"));
  }
  const JobResult no_checkpoint = run_alone("generate " + file_ + " --out " + out_ + silent, 20);
  EXPECT_EQ(no_checkpoint.exit_code, 2) << no_checkpoint.output;
  EXPECT_THAT(no_checkpoint.output, HasSubstr("there is no run directory " + out_));
}

}  // namespace
}  // namespace penstock
