#include "runtime/records/report/reading/run_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/records/run_directory/lock/lock_holder.h"
#include "runtime/records/telemetry/json_records.h"
#include "tests/unit/records/run_directory/folder.h"

namespace penstock {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

std::string metrics_line(int64_t step, int64_t attempt = 1) {
  return json_line(
             StepRecord{.step = step, .attempt = attempt, .loss = 1, .samples = 2, .step_ms = 3},
             false) +
         "\n";
}

std::string refusal_of(const std::string& directory, ErrorKind kind) {
  try {
    (void)read_run_files(directory);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), kind) << error.what();
    EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos);
    return error.what();
  }
  return "accepted";
}

TEST(RunFilesOf, WhatIsNoRunIsRefused) {
  const RunFolder folder;
  EXPECT_THAT(refusal_of(folder / "nowhere", ErrorKind::Input), HasSubstr("nowhere"));
  EXPECT_THAT(refusal_of(folder.path(), ErrorKind::Input), HasSubstr("metrics.jsonl"));
}

TEST(RunFilesOf, ADryRunIsCalledThat) {
  const RunFolder folder;
  folder.write("dry_run.json", "{}");
  EXPECT_THAT(refusal_of(folder.path(), ErrorKind::Input),
              AllOf(HasSubstr("of a dry run"), HasSubstr("dry_run.json"), HasSubstr("trace.json")));
}

TEST(RunFilesOf, ADamagedFileNamesIt) {
  const RunFolder folder;
  folder.write("metrics.jsonl", metrics_line(1));
  folder.write("trace.json", "[]\n");
  EXPECT_THAT(refusal_of(folder.path(), ErrorKind::Data), HasSubstr("trace.json"));
  folder.write("summary.json", "{\"ranks\": 2");
  EXPECT_THAT(refusal_of(folder.path(), ErrorKind::Data), HasSubstr("summary.json"));
  folder.append("metrics.jsonl", "{\"step\": 2\n" + metrics_line(3));
  EXPECT_THAT(refusal_of(folder.path(), ErrorKind::Data), HasSubstr("metrics.jsonl, line 2"));
}

TEST(RunFilesOf, ARunThatGoesOnAreReadAsFarAsTheyAre) {
  const RunFolder folder;
  folder.write("metrics.jsonl", metrics_line(1) + metrics_line(2) + "{\"step\":3,\"lo");
  folder.write("log.txt", "one\ntwo\nthree");
  folder.write("run.lock", encode(this_holder()));
  const RunFiles files = read_run_files(folder.path());
  EXPECT_EQ(files.state, RunState::Running);
  EXPECT_TRUE(files.torn_line);
  EXPECT_EQ(files.history.steps.size(), 2U);
  EXPECT_THAT(files.log, ElementsAre("one", "two", "three"));
  EXPECT_FALSE(files.summary.has_value());
}

TEST(RunFilesOf, ARunTellHowItEnded) {
  const RunFolder folder;
  folder.write("metrics.jsonl", metrics_line(1));
  EXPECT_EQ(read_run_files(folder.path()).state, RunState::Ended);
  folder.write("summary.json", R"({"attempt": 1, "stopped": "SIGTERM"})");
  EXPECT_EQ(read_run_files(folder.path()).state, RunState::Stopped);
  std::filesystem::remove(folder / "summary.json");
  folder.write("summary.json", R"({"attempt": 1})");
  EXPECT_EQ(read_run_files(folder.path()).state, RunState::Finished);
  // A second attempt that has told nothing but a step, and holds no lock any more.
  folder.append("metrics.jsonl", metrics_line(2, 2));
  EXPECT_EQ(read_run_files(folder.path()).state, RunState::Ended);
}

}  // namespace
}  // namespace penstock
