// What may begin in a directory, by what is in it and what is asked for.
#include "runtime/records/run_directory/attempt.h"

#include <gmock/gmock.h>

#include "folder.h"

namespace penstock {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

DirectoryContents two_checkpoints() {
  return {.ours = true,
          .identity = RunIdentity{.run = "mine", .attempts = 2},
          .results = {"metrics.jsonl", "checkpoints/step-00000010", "checkpoints/step-00000020"},
          .checkpoints = {{10, "d/checkpoints/step-00000010", "mine", ""},
                          {20, "d/checkpoints/step-00000020", "mine", ""}}};
}

Attempt choose(const DirectoryContents& contents, const std::string& resume, bool overwrite = false,
               const KeptCheckpoint& source = {}) {
  return choose_attempt(
      contents, {.directory = "d", .resume = resume, .overwrite = overwrite, .source = source});
}

TEST(Attempts, AnEmptyDirectoryIsANewRuns) {
  for (const char* resume : {"never", "auto"}) {
    const Attempt attempt = choose({}, resume);
    EXPECT_EQ(attempt.run, "");
    EXPECT_EQ(attempt.number, 1);
    EXPECT_EQ(attempt.resume_from, "");
    EXPECT_FALSE(attempt.replaces);
  }
}

TEST(Attempts, ResultsAreRefusedWithThreeWaysOn) {
  EXPECT_THAT(
      refusal(ErrorKind::Input, [] { (void)choose(two_checkpoints(), "never"); }),
      AllOf(HasSubstr("d has the results of a run (metrics.jsonl"), HasSubstr("--resume auto"),
            HasSubstr("another --out"), HasSubstr("--overwrite")));
  DirectoryContents only_metrics{.ours = true, .results = {"metrics.jsonl"}};
  EXPECT_THROW((void)choose(only_metrics, "never"), Error);
}

// It failed before its first step: nothing is lost by another.
TEST(Attempts, ARunWithoutResultsIsInNobodysWay) {
  const DirectoryContents begun{.ours = true, .identity = RunIdentity{.run = "a", .attempts = 1}};
  EXPECT_EQ(choose(begun, "never").run, "");
  EXPECT_EQ(choose(begun, "auto").run, "a");
  EXPECT_EQ(choose(begun, "auto").number, 2);
}

TEST(Attempts, AutoGoesOnFromTheNewest) {
  const Attempt attempt = choose(two_checkpoints(), "auto");
  EXPECT_EQ(attempt.run, "mine");
  EXPECT_EQ(attempt.number, 3);
  EXPECT_EQ(attempt.resume_from, "d/checkpoints/step-00000020");
  EXPECT_EQ(attempt.resume_step, 20);
  EXPECT_THAT(attempt.set_aside, IsEmpty());
  EXPECT_FALSE(attempt.replaces);
}

TEST(Attempts, AutoStartsWhereThereIsNoCheckpointYet) {
  DirectoryContents contents = two_checkpoints();
  contents.checkpoints.clear();
  const Attempt attempt = choose(contents, "auto");
  EXPECT_EQ(attempt.run, "mine");
  EXPECT_EQ(attempt.resume_from, "");
  EXPECT_FALSE(attempt.replaces);
}

// A metrics.jsonl of somebody else's would get our lines behind its own.
TEST(Attempts, AutoRefusesResultsThatPenstockDidNotWrite) {
  const DirectoryContents foreign{.results = {"metrics.jsonl"}};
  EXPECT_THAT(refusal(ErrorKind::Input, [&] { (void)choose(foreign, "auto"); }),
              AllOf(HasSubstr("metrics.jsonl was not written by penstock"),
                    HasSubstr("choose another --out")));
}

TEST(Attempts, AutoPassesOverWhatIsDamagedOrAnothers) {
  DirectoryContents contents = two_checkpoints();
  contents.checkpoints[1].trouble = "model.safetensors has 3 bytes, not 9";
  contents.checkpoints.push_back({30, "d/checkpoints/step-00000030", "other", ""});
  const Attempt attempt = choose(contents, "auto");
  EXPECT_EQ(attempt.resume_step, 10);
  EXPECT_THAT(attempt.notes, ElementsAre(HasSubstr("30 is passed over: it is another run's"),
                                         HasSubstr("3 bytes, not 9")));
  EXPECT_THAT(attempt.set_aside,
              ElementsAre("d/checkpoints/step-00000020", "d/checkpoints/step-00000030"));
  contents.checkpoints[0].trouble = "gone";
  EXPECT_THAT(refusal(ErrorKind::Data, [&] { (void)choose(contents, "auto"); }),
              HasSubstr("no whole checkpoint to go on from"));
}

TEST(Attempts, APathIntoTheDirectoryGoesOnThere) {
  const DirectoryContents contents = two_checkpoints();
  const Attempt attempt =
      choose(contents, "d/checkpoints/step-00000010", false, contents.checkpoints[0]);
  EXPECT_EQ(attempt.run, "mine");
  EXPECT_EQ(attempt.number, 3);
  EXPECT_EQ(attempt.resume_step, 10);
  EXPECT_THAT(attempt.set_aside, ElementsAre("d/checkpoints/step-00000020"));
}

TEST(Attempts, APathToAnotherRunBeginsANewOne) {
  const KeptCheckpoint other{5, "e/checkpoints/step-00000005", "other", ""};
  const Attempt attempt = choose({}, "e", false, other);
  EXPECT_EQ(attempt.run, "");
  EXPECT_EQ(attempt.number, 1);
  EXPECT_EQ(attempt.resume_from, "e/checkpoints/step-00000005");
  EXPECT_THAT(
      refusal(ErrorKind::Input, [&] { (void)choose(two_checkpoints(), "e", false, other); }),
      HasSubstr("results of a run"));
  EXPECT_TRUE(choose(two_checkpoints(), "e", true, other).replaces);
}

TEST(Attempts, OverwriteReplacesOnlyWhatPenstockWrote) {
  const Attempt attempt = choose(two_checkpoints(), "never", true);
  EXPECT_TRUE(attempt.replaces);
  EXPECT_EQ(attempt.run, "") << "another run";
  EXPECT_EQ(attempt.number, 1);
  const DirectoryContents foreign{.results = {"metrics.jsonl"}};
  EXPECT_THAT(refusal(ErrorKind::Input, [&] { (void)choose(foreign, "never", true); }),
              HasSubstr("was not written by penstock"));
  const DirectoryContents run_file{.foreign_run_file = true};
  for (const bool overwrite : {false, true}) {
    EXPECT_THAT(refusal(ErrorKind::Input, [&] { (void)choose(run_file, "never", overwrite); }),
                HasSubstr("run.toml: was not written by penstock"));
  }
}

TEST(Attempts, OverwriteAndResumeContradictEachOther) {
  const DirectoryContents contents = two_checkpoints();
  EXPECT_THROW((void)choose(contents, "auto", true), Error);
  EXPECT_THAT(refusal(ErrorKind::Input,
                      [&] { (void)choose(contents, "d", true, contents.checkpoints[1]); }),
              HasSubstr("would remove d/checkpoints/step-00000020"));
}

}  // namespace
}  // namespace penstock
