// The checkpoints there are: complete or absent, replaced, kept, and the latest.
#include "tests/unit/records/checkpoint/checkpoints.h"

namespace penstock {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

TEST_F(Checkpoints, AKilledSaveIsNoCheckpointAndIsClearedByTheNext) {
  EXPECT_THAT(save(1), Each(""));
  const std::string partial = root_ + "/.step-00000002.partial";
  fs::copy(step_path(1), partial);
  EXPECT_THAT(steps(), ElementsAre(1));
  EXPECT_THAT(save(3), Each(""));
  EXPECT_FALSE(fs::exists(partial));
  EXPECT_THAT(steps(), ElementsAre(1, 3));
}

TEST_F(Checkpoints, SavingAStepAgainReplacesIt) {
  EXPECT_THAT(save(5, 2), Each(""));
  put(step_path(5) + "/notes.txt", "an older one");
  EXPECT_THAT(save(5, 3), Each(""));
  expect_reads_back(5);
  EXPECT_THAT(names(root_), ElementsAre("latest", "step-00000005"));
  EXPECT_FALSE(fs::exists(step_path(5) + "/notes.txt"));
}

TEST_F(Checkpoints, ACrashWhileReplacingLosesNothing) {
  EXPECT_THAT(save(5), Each(""));
  fs::rename(step_path(5), root_ + "/.step-00000005.replaced");  // the first of the two renames
  const std::vector<StepDirectory> found = list_checkpoints(root_);
  ASSERT_EQ(found.size(), 1U);
  expect_reads_back(found[0].path, 5);
  EXPECT_THAT(save(6), Each(""));
  expect_reads_back(5);  // under its own name again
  EXPECT_THAT(names(root_), ElementsAre("latest", "step-00000005", "step-00000006"));
}

TEST_F(Checkpoints, KeepsTheNewestAndTouchesOnlyItsOwn) {
  retention_.keep = 2;
  fs::create_directories(root_ + "/step-00000001");  // no manifest: not ours
  fs::create_directories(root_ + "/best");
  for (const int64_t step : {10, 20, 30, 40}) EXPECT_THAT(save(step), Each(""));
  EXPECT_THAT(steps(), ElementsAre(30, 40));
  EXPECT_THAT(names(root_),
              ElementsAre("best", "latest", "step-00000001", "step-00000030", "step-00000040"));
  EXPECT_THAT(save(15), Each(""));  // resumed from an early one: those of later steps stay
  EXPECT_THAT(steps(), ElementsAre(15, 30, 40));
  retention_.keep = 1;
  EXPECT_THAT(save(16), Each(""));
  EXPECT_THAT(steps(), ElementsAre(16, 30, 40));
  retention_.keep = 0;
  for (const int64_t step : {17, 18, 123456789}) EXPECT_THAT(save(step), Each(""));
  EXPECT_THAT(steps(), ElementsAre(16, 17, 18, 30, 40, 123456789));
}

// 20 steps, then 10 steps of another run into the same directory.
TEST_F(Checkpoints, AnotherRunsAreLeftAloneAndAreNotTheLatest) {
  retention_.keep = 2;
  for (const int64_t step : {10, 20}) EXPECT_THAT(save(step), Each(""));
  run_ = "another";
  for (const int64_t step : {3, 5, 8}) EXPECT_THAT(save(step), Each(""));
  EXPECT_THAT(steps(), ElementsAre(5, 8, 10, 20));
  EXPECT_EQ(latest_checkpoint(root_)->step, 8);
  EXPECT_THAT(save(10),
              Each(AllOf(StartsWith("3 "), HasSubstr(step_path(10)), HasSubstr("this run"))));
  run_ = "7f3a";
  expect_reads_back(10);
}

TEST_F(Checkpoints, EveryNthStays) {
  retention_ = {.keep = 2, .keep_every = 100};
  // Steps as the clock may have them: the first of every hundred stays.
  for (const int64_t step : {40, 80, 120, 160, 199, 260, 290, 500, 510, 520}) {
    EXPECT_THAT(save(step), Each(""));
  }
  EXPECT_THAT(steps(), ElementsAre(120, 260, 500, 510, 520));
}

TEST_F(Checkpoints, TheNewestThatAnAuditHasPassedStays) {
  retention_ = {.keep = 2, .audited = 25};
  for (const int64_t step : {10, 20, 30, 40, 50}) EXPECT_THAT(save(step), Each(""));
  EXPECT_THAT(steps(), ElementsAre(20, 40, 50));
  retention_.audited = 44;
  EXPECT_THAT(save(60), Each(""));
  EXPECT_THAT(steps(), ElementsAre(40, 50, 60));
}

TEST_F(Checkpoints, LatestIsAlwaysACompleteOne) {
  EXPECT_FALSE(latest_checkpoint(root_));
  for (const int64_t step : {5, 6}) EXPECT_THAT(save(step), Each(""));
  EXPECT_EQ(fs::read_symlink(root_ + "/latest"), "step-00000006");
  expect_reads_back(root_ + "/latest", 6);
  const auto latest = [&] { return latest_checkpoint(root_).value().step; };
  // A crash before the new one had its name, and one before `latest` was moved.
  fs::create_symlink("step-00000007", root_ + "/.latest.next");
  EXPECT_EQ(latest(), 6);
  EXPECT_THAT(save(8), Each(""));
  EXPECT_THAT(names(root_),
              ElementsAre("latest", "step-00000005", "step-00000006", "step-00000008"));
  fs::remove(root_ + "/latest");
  fs::create_symlink("step-00000006", root_ + "/latest");
  EXPECT_EQ(latest(), 6) << "as somebody wants it";
  fs::create_symlink("step-00000008", root_ + "/.latest.next");
  EXPECT_EQ(latest(), 8);
  EXPECT_EQ(clear_leftovers(root_), "");
  EXPECT_EQ(fs::read_symlink(root_ + "/latest"), "step-00000008");
  // Not a name of ours, or gone.
  for (const char* target : {"../elsewhere", "step-00000009", "/", "step-5"}) {
    fs::remove(root_ + "/latest");
    fs::create_symlink(target, root_ + "/latest");
    EXPECT_EQ(latest(), 8) << target;
  }
}

TEST_F(Checkpoints, ALinkToACheckpointIsOne) {
  EXPECT_THAT(save(1), Each(""));
  const std::string elsewhere = here_ / "elsewhere";
  fs::rename(step_path(1), elsewhere);
  fs::create_symlink(elsewhere, step_path(1));
  EXPECT_THAT(steps(), ElementsAre(1));
  expect_reads_back(1);
  retention_.keep = 1;
  EXPECT_THAT(save(2), Each(""));
  EXPECT_THAT(steps(), ElementsAre(2));
  EXPECT_FALSE(fs::is_symlink(step_path(1)));
  run_ = "7f3a";
  expect_reads_back(elsewhere, 1);  // the link alone is gone
}

TEST_F(Checkpoints, WhatIsInTheWayStays) {
  fs::create_directories(root_);
  put(step_path(1), "mine");
  fs::create_directories(step_path(2) + "/folder");
  for (const int64_t step : {1, 2}) {
    EXPECT_THAT(save(step, 2), Each(AllOf(StartsWith("3 "), HasSubstr(step_path(step)))));
  }
  EXPECT_THAT(names(root_), ElementsAre("step-00000001", "step-00000002"));
  EXPECT_EQ(contents(step_path(1)), "mine");
}

TEST_F(Checkpoints, ListsOnlyExactNames) {
  EXPECT_THAT(steps(), IsEmpty());
  EXPECT_THAT(save(9), Each(""));
  for (const char* other : {"step-8", "step-000000007", "step-00000006x", "step-", "Step-00000003",
                            "step--0000005", "x.step-00000004.replaced"}) {
    fs::copy(step_path(9), root_ + "/" + other);
  }
  EXPECT_THAT(steps(), ElementsAre(9));
}

}  // namespace
}  // namespace penstock
