// What was lost before there was a RunDirectory, and must not be again.
#include "runtime/records/run_directory/run_directory.h"

#include <gmock/gmock.h>

#include <chrono>
#include <thread>
#include <vector>

#include "folder.h"
#include "runtime/records/run_directory/contents.h"
#include "runtime/records/run_directory/names.h"

namespace penstock {
namespace {

using testing::AllOf;
using testing::HasSubstr;

const std::string kRunFileText = std::string(kEffectiveHeader) + "\n[run]\nsteps = 3\n";

class RunDirectories : public testing::Test {
 protected:
  [[nodiscard]] RunDirectoryRequest request(const std::string& out,
                                            const std::string& resume = "never",
                                            bool overwrite = false) const {
    return {.out = out.empty() ? "" : folder_ / out,
            .stem = "small",
            .runs = folder_ / "runs",
            .resume = resume,
            .overwrite = overwrite};
  }
  // A run that has made those checkpoints; returns its identity.
  std::string trained(const std::string& out, std::initializer_list<int64_t> steps,
                      const std::string& resume = "never", bool overwrite = false) const {
    RunDirectory directory(request(out, resume, overwrite));
    (void)directory.begin(kRunFileText);
    folder_.append(out + "/metrics.jsonl", "{\"step\": 1}\n");
    folder_.append(out + "/log.txt", "hello\n");
    for (const int64_t step : steps) folder_.checkpoint(out, step, directory.run());
    return directory.run();
  }
  RunFolder folder_;
};

TEST_F(RunDirectories, ARerunChangesNothing) {
  trained("run", {10, 20});
  const auto before = folder_.files();
  EXPECT_THAT(refusal(ErrorKind::Input, [&] { RunDirectory directory(request("run")); }),
              HasSubstr("run has the results of a run (metrics.jsonl, ...)"));
  EXPECT_EQ(folder_.files(), before);
}

TEST_F(RunDirectories, AStartThatTookNoStepIsInNobodysWay) {
  {
    RunDirectory directory(request("run"));
    (void)directory.begin(kRunFileText);
    folder_.append("run/starts.jsonl", "{\"attempt\": 1}\n");
    folder_.append("run/log.txt", "hello\n");
  }
  RunDirectory again(request("run"));
  (void)again.begin(kRunFileText);
  folder_.append("run/metrics.jsonl", "{\"step\": 1}\n");
}

TEST_F(RunDirectories, OneThatIsNeverBegunLeavesNothing) {
  {
    const RunDirectory named(request("deep/er"));
    const RunDirectory numbered(request(""));
    EXPECT_TRUE(folder_.has("runs/small-1"));
  }
  EXPECT_FALSE(folder_.has("deep/er"));
  EXPECT_FALSE(folder_.has("runs/small-1"));
  EXPECT_FALSE(folder_.has("runs/latest"));
}

// `cp -rL`, or a file system without links: no checkpoint could be completed any more.
TEST_F(RunDirectories, ACopyThatFollowedLinksIsRepairedWithALine) {
  const std::string run = trained("run", {10, 20});
  const std::string root = folder_ / "run/checkpoints";
  const auto copy_latest = [&] {
    const auto all = std::filesystem::copy_options::recursive;
    std::filesystem::remove(root + "/latest");
    std::filesystem::copy(root + "/step-00000020", root + "/latest", all);
  };
  copy_latest();
  {
    RunDirectory directory(request("run", "auto"));
    EXPECT_EQ(directory.attempt().resume_from, root + "/step-00000020");
    EXPECT_THAT(directory.begin(kRunFileText),
                testing::ElementsAre(AllOf(HasSubstr("checkpoints/latest is a directory"),
                                           HasSubstr("it is in " + root + "/before-attempt-2"))));
    EXPECT_TRUE(folder_.has("run/checkpoints/before-attempt-2/latest/manifest.json"));
    folder_.checkpoint("run", 30, run);
    EXPECT_EQ(std::filesystem::read_symlink(root + "/latest"), "step-00000030");
  }
  std::filesystem::remove_all(root + "/step-00000030");
  copy_latest();
  std::filesystem::remove_all(root + "/step-00000020");
  RunDirectory directory(request("run", "auto"));
  EXPECT_EQ(directory.attempt().resume_step, 20) << "the only one of its step stands in for it";
  EXPECT_THAT(directory.begin(kRunFileText),
              testing::ElementsAre(HasSubstr("it is " + root + "/step-00000020 now")));
  EXPECT_EQ(newest_of_run(folder_ / "run"), root + "/step-00000020");
}

// It stayed without a word, and the new run failed when it came to that step.
TEST_F(RunDirectories, AStepThatOverwriteDoesNotRemoveIsSetAsideAndTold) {
  for (int round = 0; round < 2; ++round) {
    trained("run", {10}, "never", round > 0);
    folder_.write("run/checkpoints/step-00000010/notes.md", "mine");
    folder_.checkpoint("run", 20, "");
    std::filesystem::remove(folder_ / "run/checkpoints/step-00000020/manifest.json");
    RunDirectory directory(request("run", "never", true));
    const std::string aside = folder_ / (round == 0 ? "run/checkpoints/before-attempt-1"
                                                    : "run/checkpoints/before-attempt-1-2");
    EXPECT_THAT(directory.begin(kRunFileText),
                testing::ElementsAre(AllOf(HasSubstr("step-00000010 has files"),
                                           HasSubstr("it is in " + aside + " now")),
                                     AllOf(HasSubstr("step-00000020 has no manifest"),
                                           HasSubstr("it is in " + aside + " now"))));
    EXPECT_TRUE(std::filesystem::exists(aside + "/step-00000020/state.json"));
    for (const int64_t step : {10, 20}) folder_.checkpoint("run", step, directory.run());
  }
}

// 20 steps, then 10 into the same directory: `eval` used to take the weights of the first.
TEST_F(RunDirectories, OverwriteReplacesTheRunAndNothingElse) {
  const std::string first = trained("run", {10, 20});
  folder_.write("run/notes.md", "mine");
  folder_.write("run/classes.json", "those of the first");
  folder_.write("run/checkpoints/step-00000010/notes.md", "mine too");
  folder_.write("elsewhere/step/manifest.json", "not ours");
  std::filesystem::create_directory_symlink(folder_ / "elsewhere/step",
                                            folder_ / "run/checkpoints/step-00000030");
  const std::string second = trained("run", {5}, "never", true);
  EXPECT_NE(first, second);
  EXPECT_EQ(newest_of_run(folder_ / "run"), folder_ / "run/checkpoints/step-00000005");
  EXPECT_EQ(folder_.read("run/metrics.jsonl"), "{\"step\": 1}\n");
  EXPECT_EQ(folder_.read("run/log.txt"), "hello\n");
  EXPECT_EQ(folder_.read("run/notes.md"), "mine");
  EXPECT_FALSE(std::filesystem::exists(folder_ / "run/classes.json"));
  EXPECT_EQ(folder_.read("run/checkpoints/before-attempt-1/step-00000010/notes.md"), "mine too");
  EXPECT_EQ(folder_.read("elsewhere/step/manifest.json"), "not ours");
  EXPECT_EQ(read_identity(folder_ / "run")->attempts, 1);
}

TEST_F(RunDirectories, GoingOnKeepsAllThatThereIs) {
  const std::string run = trained("run", {10, 20});
  RunDirectory directory(request("run", "auto"));
  EXPECT_EQ(directory.attempt().resume_from, folder_ / "run/checkpoints/step-00000020");
  EXPECT_EQ(directory.attempt().number, 2);
  (void)directory.begin(kRunFileText);
  EXPECT_EQ(directory.run(), run);
  EXPECT_EQ(folder_.read("run/metrics.jsonl"), "{\"step\": 1}\n");
  EXPECT_EQ(read_identity(folder_ / "run")->attempts, 2);
}

TEST_F(RunDirectories, GoingBackSetsLaterCheckpointsAside) {
  const std::string run = trained("run", {10, 20});
  const std::string step = folder_ / "run/checkpoints/step-00000010";
  for (const char* out : {"run", ""}) {  // that directory is meant where none is named
    RunDirectory directory(request(out, step));
    EXPECT_EQ(directory.path(), folder_ / "run");
    EXPECT_EQ(directory.attempt().resume_step, 10);
  }
  RunDirectory directory(request("run", step));
  (void)directory.begin(kRunFileText);
  EXPECT_EQ(directory.run(), run);
  EXPECT_EQ(newest_of_run(folder_ / "run"), step);
  EXPECT_TRUE(folder_.has("run/checkpoints/before-attempt-2/step-00000020/manifest.json"));
}

TEST_F(RunDirectories, GoingOnFromAnotherRunIsANewOne) {
  const std::string run = trained("a", {10});
  RunDirectory directory(request("b", folder_ / "a"));
  (void)directory.begin(kRunFileText);
  EXPECT_NE(directory.run(), run);
  EXPECT_EQ(directory.attempt().resume_from, folder_ / "a/checkpoints/step-00000010");
  EXPECT_THAT(
      refusal(ErrorKind::Input, [&] { RunDirectory other(request("c", folder_ / "none")); }),
      HasSubstr("there is no such directory"));
}

TEST_F(RunDirectories, TwoJobsWithOneDirectoryAreRefused) {
  RunDirectory first(request("run"));
  EXPECT_THAT(refusal(ErrorKind::Input, [&] { RunDirectory second(request("run", "auto")); }),
              HasSubstr("is being written by process"));
}

// What check() throws within five seconds.
std::string end_of(RunDirectory& directory, ErrorKind kind) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(5);
  while (std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    try {
      directory.check();
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), kind);
      return error.what();
    }
  }
  return "";
}

TEST_F(RunDirectories, ALockThatAnotherHasTakenEndsTheRun) {
  RunDirectoryRequest quick = request("run");
  quick.lock.beat = std::chrono::milliseconds(20);
  RunDirectory directory(quick);
  directory.check();
  LockHolder other = this_holder();
  other.machine = "another boot";
  std::filesystem::rename(folder_ / "run/run.lock", folder_ / "old.lock");
  folder_.write("run/run.lock", encode(other) + "\n");
  EXPECT_THAT(end_of(directory, ErrorKind::Peer), HasSubstr("has been taken by another process"));
}

TEST_F(RunDirectories, ALockFileThatIsRemovedIsTakenAgainWithALine) {
  RunDirectoryRequest quick = request("run");
  quick.lock.beat = std::chrono::milliseconds(20);
  RunDirectory directory(quick);
  std::vector<std::string> said;
  directory.say_by([&](const std::string& line) { said.push_back(line); });
  std::filesystem::remove(folder_ / "run/run.lock");
  for (int i = 0; i < 200 && said.empty(); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    directory.check();
  }
  EXPECT_THAT(said, testing::ElementsAre(HasSubstr("run/run.lock was removed while the run")));
  EXPECT_TRUE(folder_.has("run/run.lock"));
}

TEST_F(RunDirectories, OneThatIsMovedOrRemovedWhileTheRunGoesOnIsToldAsThat) {
  for (const std::string fate : {"moved", "removed", "replaced"}) {
    RunDirectory directory(request("run"));
    (void)directory.begin(kRunFileText);
    directory.check();
    if (fate == "moved") {
      std::filesystem::rename(folder_ / "run", folder_ / "away");
    } else {
      std::filesystem::remove_all(folder_ / "run");
    }
    if (fate == "replaced") std::filesystem::create_directory(folder_ / "run");
    const std::string told = fate == "moved" ? "run was moved to " + (folder_ / "away")
                                             : std::string("run was removed while the run was");
    EXPECT_THAT(refusal(ErrorKind::Resource, [&] { directory.check(); }), HasSubstr(told)) << fate;
  }
}

TEST_F(RunDirectories, TwoJobsWithoutADirectoryGetTwo) {
  RunDirectory first(request(""));
  RunDirectory second(request(""));
  EXPECT_NE(first.path(), second.path());
  EXPECT_THAT(first.begin(kRunFileText), testing::IsEmpty());
  EXPECT_EQ(std::filesystem::read_symlink(folder_ / "runs/latest"), "small-1");
  (void)second.begin(kRunFileText);
  EXPECT_EQ(std::filesystem::read_symlink(folder_ / "runs/latest"), "small-2");
}

// A job that a batch system starts again by the same words.
TEST_F(RunDirectories, AutoWithoutADirectoryGoesOnWithTheNewest) {
  {
    RunDirectory first(request("", "auto"));
    (void)first.begin(kRunFileText);
    EXPECT_EQ(first.path(), folder_ / "runs/small-1");
  }
  RunDirectory again(request("", "auto"));
  EXPECT_EQ(again.path(), folder_ / "runs/small-1");
  EXPECT_EQ(again.attempt().number, 2);
}

// What it leads to when the run begins, not what it leads to later.
TEST_F(RunDirectories, ALinkIsFollowedOnce) {
  trained("runs/small-1", {10});
  std::filesystem::create_directory_symlink("small-1", folder_ / "runs/latest");
  RunDirectory directory(request("runs/latest/", "auto"));
  EXPECT_EQ(directory.path(), folder_ / "runs/small-1");
}

TEST_F(RunDirectories, CanBeMoved) {
  const std::string run = trained("run", {10});
  std::filesystem::rename(folder_ / "run", folder_ / "moved");
  EXPECT_EQ(newest_of_run(folder_ / "moved"), folder_ / "moved/checkpoints/step-00000010");
  const RunDirectory directory(request("moved", "auto"));
  EXPECT_EQ(directory.run(), run);
}

TEST_F(RunDirectories, ADamagedCheckpointIsNotGoneOnFrom) {
  trained("run", {10, 20});
  folder_.append("run/checkpoints/step-00000020/state.json", " ");
  EXPECT_THAT(refusal(ErrorKind::Data, [&] { (void)newest_of_run(folder_ / "run"); }),
              testing::AllOf(HasSubstr("state.json has"),
                             HasSubstr("the newest whole one of its run is " +
                                       (folder_ / "run/checkpoints/step-00000010"))))
      << "an older one is offered, and not taken in silence";
  RunDirectory directory(request("run", "auto"));
  EXPECT_EQ(directory.attempt().resume_step, 10);
  EXPECT_THAT(directory.attempt().notes, testing::ElementsAre(HasSubstr("state.json has")));
  EXPECT_THAT(directory.begin(kRunFileText), testing::IsEmpty());
  EXPECT_THAT(refusal(ErrorKind::Data,
                      [&] {
                        RunDirectory other(request(
                            "b", folder_ / "run/checkpoints/before-attempt-2/step-00000020"));
                      }),
              HasSubstr("state.json has"));
}

// The offer comes from whatever reads a checkpoint itself, such as export and inspect.
TEST_F(RunDirectories, ADamagedShardIsToldWithTheNewestWholeOne) {
  const std::string run = trained("run", {10, 20});
  const std::string newest = folder_ / "run/checkpoints/step-00000020";
  const auto damage = [] { fail_data("it is damaged"); };
  EXPECT_THAT(refusal(ErrorKind::Data, [&] { with_offer_beside(newest, damage); }),
              testing::EndsWith("it is damaged"))
      << "what is whole is not to blame";
  const std::string index = "run/checkpoints/step-00000020/" + index_file("model");
  std::string text = folder_.read(index);
  text[1] = static_cast<char>(text[1] + 1);
  folder_.write(index, text);
  EXPECT_THAT(refusal(ErrorKind::Data, [&] { with_offer_beside(newest, damage); }),
              testing::EndsWith("it is damaged; the newest whole one of its run is " +
                                (folder_ / "run/checkpoints/step-00000010")));
}

// One without its manifest was as if it had never been; one whose manifest was damaged was bad
// usage.
TEST_F(RunDirectories, ADamagedManifestIsDamage) {
  for (const std::string run : {"damaged", "gone"}) {
    trained(run, {10, 20});
    const std::string step = run + "/checkpoints/step-00000020";
    const std::string newest = folder_ / step;
    std::filesystem::remove(newest + "/manifest.json");
    if (run == "damaged") folder_.write(step + "/manifest.json", "{");
    for (const std::string& one : {run, step}) {
      EXPECT_THAT(refusal(ErrorKind::Data,
                          [&] { RunDirectory directory(request("other", folder_ / one)); }),
                  HasSubstr("manifest.json"));
    }
    EXPECT_THAT(refusal(ErrorKind::Data, [&] { (void)newest_of_run(folder_ / run); }),
                HasSubstr(newest + " is damaged: "));
    const RunDirectory directory(request(run, "auto"));
    EXPECT_EQ(directory.attempt().resume_step, 10);
    EXPECT_THAT(directory.attempt().notes, testing::ElementsAre(HasSubstr("20 is passed over")));
    EXPECT_THAT(directory.attempt().set_aside, testing::ElementsAre(newest));
  }
}

// A bit of a shard: only reading it all tells, when the directory has been chosen.
TEST_F(RunDirectories, WhatIsFoundDamagedLaterIsPassedOver) {
  trained("run", {10, 20});
  RunDirectory directory(request("run", "auto"));
  ASSERT_EQ(directory.attempt().resume_step, 20);
  directory.pass_over("it has another checksum");
  EXPECT_EQ(directory.attempt().resume_step, 10);
  EXPECT_THAT(directory.attempt().notes,
              testing::ElementsAre(HasSubstr("20 is passed over: it has another checksum")));
  EXPECT_THAT(refusal(ErrorKind::Data, [&] { directory.pass_over("it, too"); }),
              HasSubstr("no whole checkpoint to go on from"));
}

TEST_F(RunDirectories, CheckpointsOfAnotherRunDoNotCount) {
  trained("run", {10});
  folder_.checkpoint("run", 99, "another run");
  EXPECT_EQ(newest_of_run(folder_ / "run"), folder_ / "run/checkpoints/step-00000010");
}

TEST_F(RunDirectories, ASymlinkedCheckpointCounts) {
  trained("run", {});
  const std::string other = folder_.checkpoint("big-disk", 10, "");
  std::filesystem::create_directories(folder_ / "run/checkpoints");
  std::filesystem::create_directory_symlink(other, folder_ / "run/checkpoints/step-00000010");
  EXPECT_EQ(newest_of_run(folder_ / "run"), folder_ / "run/checkpoints/step-00000010");
}

TEST_F(RunDirectories, AFileCalledStopAsksOneAttemptToStop) {
  folder_.write("run/stop", "");
  RunDirectory directory(request("run"));
  EXPECT_FALSE(directory.asked_to_stop()) << "that was an earlier wish";
  folder_.write("run/stop", "");
  (void)directory.begin(kRunFileText);
  EXPECT_TRUE(directory.asked_to_stop()) << "that was a wish while the run started";
}

// A run that could not take the wish away would end after its first step, every time.
TEST_F(RunDirectories, AStopThatCannotBeRemovedIsNamed) {
  folder_.write("run/stop/here", "");
  EXPECT_THAT(refusal(ErrorKind::Resource, [&] { RunDirectory directory(request("run")); }),
              AllOf(HasSubstr("cannot remove"), HasSubstr("run/stop, which would end the run")));
}

TEST_F(RunDirectories, AFileInItsPlaceIsNamed) {
  folder_.write("file", "x");
  EXPECT_THAT(refusal(ErrorKind::Resource, [&] { RunDirectory directory(request("file")); }),
              HasSubstr("file: cannot be made a run directory"));
  EXPECT_EQ(folder_.read("file"), "x");
}

// Folders that were made for a run stayed, each time it was refused.
TEST_F(RunDirectories, WhatARunThatDidNotBeginWasMadeIsRemoved) {
  folder_.write("other/file", "x");
  const auto before = folder_.files();
  for (const char* out : {"a/b/c", "other/b/c", "a/b/c/", ""}) {
    RunDirectory directory(request(out));
    EXPECT_TRUE(std::filesystem::is_directory(directory.path()));
  }
  EXPECT_EQ(folder_.files(), before);
  for (const char* gone : {"a", "other/b", "runs"}) {
    EXPECT_FALSE(std::filesystem::exists(folder_ / gone)) << gone;
  }
  {
    RunDirectory directory(request("a/b/c"));
    folder_.write("a/other", "begun meanwhile");
  }
  EXPECT_FALSE(std::filesystem::exists(folder_ / "a/b"));
  EXPECT_EQ(folder_.read("a/other"), "begun meanwhile");
}

TEST_F(RunDirectories, SizesOfTheDataAndTheLengthOfTheRunAreKept) {
  RunDirectory directory(request("run"));
  (void)directory.begin(kRunFileText);
  const DataSizes sizes{.vocabulary = 256, .training_samples = 1000};
  const RunLength length{.steps = 750, .epochs = 3};
  directory.keep(sizes, length);
  EXPECT_EQ(read_identity(folder_ / "run")->data, sizes);
  EXPECT_EQ(read_identity(folder_ / "run")->length, length);
  folder_.append("run/run.json", "}");
  EXPECT_THAT(refusal(ErrorKind::Data, [&] { (void)read_identity(folder_ / "run"); }),
              HasSubstr("run.json"));
}

TEST_F(RunDirectories, TheBestCheckpointIsFoundAndItsLinkSettledWhenARunGoesBack) {
  const std::string run = trained("run", {});
  for (const int64_t step : {10, 20, 30}) {
    folder_.checkpoint("run", step, run, step == 30 ? 20 : step);
  }
  EXPECT_EQ(best_of_run(folder_ / "run"), folder_ / "run/checkpoints/step-00000020");
  trained("run", {}, folder_ / "run/checkpoints/step-00000010");
  EXPECT_EQ(best_of_run(folder_ / "run"), folder_ / "run/checkpoints/step-00000010");
  EXPECT_EQ(std::filesystem::read_symlink(folder_ / "run/checkpoints/best"), "step-00000010");
  const std::string third = trained("third", {});
  folder_.checkpoint("third", 10, third, 10);
  folder_.checkpoint("third", 30, third, 20);
  EXPECT_THAT(refusal(ErrorKind::Input, [&] { (void)best_of_run(folder_ / "third"); }),
              AllOf(HasSubstr("lacks the best checkpoint, of step 20"),
                    HasSubstr("the best of those that are there is"), HasSubstr("step-00000010")));
  const std::string other = trained("other", {});
  folder_.checkpoint("other", 10, other);
  EXPECT_THAT(refusal(ErrorKind::Input, [&] { (void)best_of_run(folder_ / "other"); }),
              HasSubstr("has no best checkpoint"));
}

TEST_F(RunDirectories, ACopyThatFollowedTheLinkToTheBestIsSetAside) {
  const std::string run = trained("run", {});
  folder_.checkpoint("run", 10, run, 10);
  std::filesystem::copy(folder_ / "run/checkpoints/step-00000010",
                        folder_ / "run/checkpoints/best");
  RunDirectory directory(request("run", "auto"));
  EXPECT_THAT(directory.begin(kRunFileText),
              testing::Contains(HasSubstr("not the link to the best checkpoint: it is in")));
  EXPECT_EQ(std::filesystem::read_symlink(folder_ / "run/checkpoints/best"), "step-00000010");
  EXPECT_TRUE(folder_.has("run/checkpoints/before-attempt-2/best/manifest.json"));
}

}  // namespace
}  // namespace penstock
