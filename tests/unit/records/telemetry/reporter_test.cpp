// A small run through the reporter: its files, and what reaches the terminal.
#include "runtime/records/telemetry/reporter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "kernels/error.h"
#include "runtime/records/telemetry/formats/event_file.h"
#include "runtime/records/telemetry/output_file.h"
#include "runtime/system/files/atomic_file.h"
#include "tests/support/temporary_folder.h"

namespace penstock {
namespace {

using nlohmann::json;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

class ReporterTest : public ::testing::Test {
 protected:
  ~ReporterTest() override { unsetenv("PENSTOCK_PROGRESS"); }

  [[nodiscard]] std::string read(const std::string& name) const {
    std::ostringstream text;
    text << std::ifstream(folder_ / name).rdbuf();
    return text.str();
  }
  // Seven steps, an evaluation and a summary; returns what was written to standard output.
  std::string run(int64_t attempt = 1) {
    ::testing::internal::CaptureStdout();
    {
      Reporter reporter({.directory = folder_.path(),
                         .attempt = attempt,
                         .total_steps = 7,
                         .log_every = 3,
                         .start = {.program = "penstock 0.1.0", .environment = {{"A", "\xff"}}}});
      reporter.open();
      reporter.note("hello");
      for (int64_t step = 1; step <= 7; ++step) {
        reporter.step({.step = step,
                       .loss = 0.1 * static_cast<double>(step),
                       .samples = 4,
                       .step_ms = 2.0,
                       .accuracy = {}});
      }
      reporter.evaluated({.step = 7, .loss = 0.5, .accuracy = {}});
      reporter.finished({});
    }
    return ::testing::internal::GetCapturedStdout();
  }

  TemporaryFolder folder_;
};

TEST_F(ReporterTest, WritesOneObjectALine) {
  run();
  std::istringstream lines(read("metrics.jsonl"));
  std::vector<json> records;
  for (std::string line; std::getline(lines, line);) {
    records.push_back(json::parse(line));
  }
  ASSERT_EQ(records.size(), 8U);
  for (int i = 0; i < 7; ++i) {
    EXPECT_EQ(records[i]["step"], i + 1);
    EXPECT_EQ(records[i]["loss"].get<double>(), 0.1 * static_cast<double>(i + 1));
  }
  EXPECT_EQ(records[7]["eval"], true);
  EXPECT_EQ(json::parse(read("summary.json"))["ranks"], 1);
  EXPECT_FALSE(std::filesystem::exists(folder_ / "summary.json.new"));
}

// What was written then went to a file without a name.
TEST_F(ReporterTest, KeepsHowEachAttemptWasStarted) {
  run();
  run(2);
  std::istringstream lines(read("starts.jsonl"));
  std::string first, second, none;
  std::getline(lines, first);
  std::getline(lines, second);
  EXPECT_FALSE(std::getline(lines, none));
  EXPECT_EQ(json::parse(first)["attempt"], 1);
  EXPECT_EQ(json::parse(second)["attempt"], 2);
  EXPECT_EQ(json::parse(second)["program"], "penstock 0.1.0");
  EXPECT_EQ(json::parse(read("summary.json"))["start"], json::parse(second));
}

TEST_F(ReporterTest, TheLastEvaluationIsOfWhicheverAttempt) {
  run(3);
  EXPECT_EQ(json::parse(read("summary.json"))["final_eval"]["attempt"], 3);
  const EvalRecord before{.step = 4, .attempt = 2, .loss = 0.25, .accuracy = {}, .samples = 9};
  Reporter reporter(
      {.directory = folder_.path(), .attempt = 3, .total_steps = 7, .last_evaluation = before});
  ::testing::internal::CaptureStdout();
  reporter.open();
  RunSummary summary;
  summary.steps = 6;
  reporter.finished(summary);
  EXPECT_THAT(::testing::internal::GetCapturedStdout(),
              HasSubstr("0.2500 on validation data after step 4"));
  const json told = json::parse(read("summary.json"))["final_eval"];
  EXPECT_EQ(told["attempt"], 2);
  EXPECT_EQ(told["step"], 4);
  EXPECT_EQ(told["samples"], 9);
}

TEST_F(ReporterTest, AFileThatIsRemovedOrMovedIsBegunAnewWithALine) {
  ::testing::internal::CaptureStdout();
  Reporter reporter({.directory = folder_.path(), .total_steps = 9, .tensorboard = true});
  reporter.open();
  reporter.step({.step = 1, .step_ms = 2.0, .accuracy = {}});
  std::filesystem::remove(folder_ / "metrics.jsonl");
  std::filesystem::remove_all(folder_ / "tensorboard");
  std::filesystem::rename(folder_ / "log.txt", folder_ / "old-log.txt");
  reporter.step({.step = 2, .step_ms = 2.0, .accuracy = {}});
  reporter.step({.step = 3, .step_ms = 2.0, .accuracy = {}});
  const std::string printed = ::testing::internal::GetCapturedStdout();
  std::istringstream lines(read("metrics.jsonl"));
  std::string line;
  ASSERT_TRUE(std::getline(lines, line));
  EXPECT_EQ(json::parse(line)["step"], 2);
  ASSERT_TRUE(std::getline(lines, line));
  EXPECT_EQ(json::parse(line)["step"], 3);
  EXPECT_GT(std::filesystem::file_size(event_file_path(folder_.path(), 1)), 0U);
  for (const char* name : {"metrics.jsonl", "log.txt", "tensorboard"}) {
    const std::string told = std::string("/") + name + " was removed or moved";
    EXPECT_THAT(printed, HasSubstr(told));
    EXPECT_THAT(read("log.txt"), HasSubstr(told));
  }
}

// Nothing is begun anew in a directory that is not the run's any more.
TEST_F(ReporterTest, AsksFirstWhetherTheDirectoryIsThere) {
  ::testing::internal::CaptureStdout();
  Reporter reporter({.directory = folder_.path(), .total_steps = 9, .check_directory = [] {
                       fail_resource("it was moved");
                     }});
  reporter.open();
  reporter.step({.step = 1, .step_ms = 2.0, .accuracy = {}});
  std::filesystem::remove(folder_ / "metrics.jsonl");
  EXPECT_THROW(reporter.step({.step = 2, .step_ms = 2.0, .accuracy = {}}), Error);
  (void)::testing::internal::GetCapturedStdout();
  EXPECT_FALSE(std::filesystem::exists(folder_ / "metrics.jsonl"));
}

TEST_F(ReporterTest, PrintsPlainLinesNowAndThen) {
  setenv("PENSTOCK_PROGRESS", "0", 1);
  const std::string printed = run();
  EXPECT_EQ(printed, read("log.txt"));
  EXPECT_THAT(printed, ContainsRegex("^hello\n[0-9][0-9]:[0-9][0-9]:[0-9][0-9] step 1/7 "));
  EXPECT_THAT(printed, ContainsRegex("\n[0-9:]+ eval at step 7 "));
  // Not before there is an average, and then for a minute not again.
  EXPECT_THAT(printed, ContainsRegex("step 3/7 [^\n]* \\| 0.0 s left\n"));
  EXPECT_THAT(printed, Not(ContainsRegex("step [167]/7 [^\n]* left")));
  for (const char* logged : {"step 3/7", "step 6/7", "step 7/7", "eval at step 7"}) {
    EXPECT_THAT(printed, HasSubstr(logged));
  }
  EXPECT_THAT(printed, Not(HasSubstr("step 2/7")));
  EXPECT_THAT(printed, Not(HasSubstr("\r")));
}

TEST_F(ReporterTest, ALiveLineIsErasedBeforePlainOnes) {
  setenv("PENSTOCK_PROGRESS", "1", 1);
  const std::string printed = run();
  EXPECT_THAT(printed, HasSubstr("\r\x1b[2K["));
  EXPECT_THAT(printed, ContainsRegex("\r\x1b\\[2K[0-9:]+ eval at step 7"));
  EXPECT_THAT(printed, Not(HasSubstr("step 3/7")));
  EXPECT_THAT(read("log.txt"), HasSubstr("step 3/7"));
  EXPECT_THAT(read("log.txt"), Not(HasSubstr("\r")));
}

TEST_F(ReporterTest, AMissingDirectoryIsNamed) {
  try {
    Reporter reporter({.directory = folder_ / "none"});
    reporter.open();
    FAIL() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::Resource);
    EXPECT_THAT(error.what(), HasSubstr("none/metrics.jsonl: cannot be created: No such file"));
  }
}

// A run that goes on must lose nothing of what it had said, and what a killed process had only
// begun to say must not spoil what follows.
TEST_F(ReporterTest, AppendsToWhatEarlierAttemptsHaveWritten) {
  run();
  const std::string log = read("log.txt");
  std::ofstream(folder_ / "metrics.jsonl", std::ios::app) << R"({"step": 8, "lo)";
  std::ofstream(folder_ / "log.txt", std::ios::app) << "step 8";
  ::testing::internal::CaptureStdout();
  {
    Reporter reporter({.directory = folder_.path(), .attempt = 2, .total_steps = 9});
    reporter.open();
    reporter.step({.step = 8, .samples = 4, .step_ms = 2.0});
    reporter.evaluated({.step = 8, .accuracy = {}});
    RunSummary summary;
    summary.stopped = "SIGUSR1";
    reporter.finished(summary);
  }
  (void)::testing::internal::GetCapturedStdout();
  std::istringstream lines(read("metrics.jsonl"));
  std::vector<json> records;
  for (std::string line; std::getline(lines, line);) records.push_back(json::parse(line));
  ASSERT_EQ(records.size(), 10U);
  for (size_t i = 0; i < records.size(); ++i) EXPECT_EQ(records[i]["attempt"], i < 8 ? 1 : 2) << i;
  EXPECT_EQ(records[8]["step"], 8);
  EXPECT_EQ(read("log.txt").substr(0, log.size() + 7), log + "step 8\n");
  const json summary = json::parse(read("summary.json"));
  EXPECT_EQ(summary["attempt"], 2);
  EXPECT_EQ(summary["stopped"], "SIGUSR1");
}

// A byte between two records would be the end of what TensorBoard reads.
TEST_F(ReporterTest, AppendsToAnEventFileNothingButRecords) {
  const std::string path = event_file_path(folder_.path(), 1);
  { const EventFile file(path); }
  const auto once = std::filesystem::file_size(path);
  { const EventFile file(path); }
  EXPECT_EQ(std::filesystem::file_size(path), 2 * once);
}

TEST(LineFile, AFullDiskIsAnError) {
  LineFile file("/dev/full");
  EXPECT_THROW(file.write_line("x"), Error);
}

TEST_F(ReporterTest, ReplacingAFileKeepsTheOldOneWhenItFails) {
  const std::string path = folder_ / "f";
  replace_file(path, "old");
  replace_file(path, "new");
  EXPECT_EQ(read("f"), "new");
  std::filesystem::create_directory(folder_ / "f.new");  // the temporary file cannot be made
  EXPECT_THROW(replace_file(path, "newer"), Error);
  EXPECT_EQ(read("f"), "new");
}

}  // namespace
}  // namespace penstock
