// The way from what a user asks for to programs: by name and from CSV alike, and what is refused.
#include "runtime/planning/schedule/recipe.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "runtime/planning/schedule/generators/known_schedules.h"
#include "runtime/planning/schedule/text/csv.h"
#include "runtime/planning/schedule/text/recompute_text.h"
#include "tests/unit/planning/schedule/support.h"

namespace penstock {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

int count(const Schedule& schedule, Op op) {
  int all = 0;
  for (const auto& program : schedule.program) {
    all += static_cast<int>(
        std::count_if(program.begin(), program.end(), [&](const auto& i) { return i.op == op; }));
  }
  return all;
}

TEST(Recipe, OfAFileIsThatOfItsName) {
  for (const KnownSchedule& known : known_schedules()) {
    const Recipe named{.schedule = known.name,
                       .stages = 3 * known.chunks,
                       .micro_batches = 6,
                       .recompute = "stage"};
    Recipe filed = named;
    filed.schedule = "mine.csv";
    filed.csv = to_csv(known.make({3, known.chunks, 6}));
    for (const int stages : {named.stages, 0}) {  // 0: as the file has
      filed.stages = stages;
      filed.micro_batches = stages == 0 ? 0 : 6;
      EXPECT_EQ(stages_per_rank(filed), known.chunks);
      EXPECT_EQ(ranks_per_pipeline(filed), 3);
      EXPECT_EQ(training_schedule(filed).schedule.program,
                training_schedule(named).schedule.program);
      EXPECT_EQ(evaluation_schedule(filed).schedule.program,
                evaluation_schedule(named).schedule.program);
    }
  }
}

TEST(Recipe, StagesAreOnTheRanksThatItLists) {
  Recipe recipe{
      .schedule = "looped-bfs", .stages = 5, .micro_batches = 2, .stage_ranks = {0, 1, 1, 2, 0}};
  EXPECT_EQ(ranks_per_pipeline(recipe), 3);
  EXPECT_EQ(stages_per_rank(recipe), 2);
  EXPECT_EQ(listed_placement(recipe), recipe.stage_ranks);
  const Schedule schedule = training_schedule(recipe).schedule;
  EXPECT_EQ(schedule.rank_of_stage, recipe.stage_ranks);
  EXPECT_EQ(to_csv(schedule),
            "F0.0,F0.1,F4.0,F4.1,B4.0,B4.1,B0.0,B0.1\n"
            "F1.0,F1.1,F2.0,F2.1,B2.0,B2.1,B1.0,B1.1\n"
            "F3.0,F3.1,B3.0,B3.1\n");
  EXPECT_EQ(evaluation_schedule(recipe).schedule.rank_of_stage, recipe.stage_ranks);
  // A file has the placement itself.
  Recipe filed{.schedule = "mine.csv", .csv = to_csv(schedule), .stages = 5, .micro_batches = 2};
  EXPECT_EQ(ranks_per_pipeline(filed), 3);
  EXPECT_EQ(stages_per_rank(filed), 2);
  EXPECT_EQ(listed_placement(filed), recipe.stage_ranks);
  filed.stage_ranks = recipe.stage_ranks;
  EXPECT_EQ(training_schedule(filed).schedule.program, schedule.program);
  // Where all hold equally many, the sizes say it.
  EXPECT_TRUE(listed_placement({.schedule = "mine.csv", .csv = "F0.0,B0.0\n"}).empty());
}

TEST(Recipe, ListsOfRanksThatMakeNoSenseAreRefused) {
  const auto refusal = [](const Recipe& recipe) {
    const std::string said = message_of([&] { return training_schedule(recipe); });
    EXPECT_EQ(message_of([&] { return ranks_per_pipeline(recipe); }).empty(),
              said.find("places stages itself") != std::string::npos)
        << said;
    return said;
  };
  Recipe recipe{.schedule = "looped-bfs", .stages = 4, .micro_batches = 2};
  recipe.stage_ranks = {0, 2, 2, 0};
  EXPECT_EQ(refusal(recipe),
            "--stage-ranks 0,2,2,0 gives no stage to rank 1: ranks are 0 to 2, and each holds one "
            "stage at least");
  recipe.stage_ranks = {0, 1, 2, 4};
  EXPECT_EQ(refusal(recipe),
            "--stage-ranks 0,1,2,4: there is no rank 4, since 4 stages have at most ranks 0 to 3");
  recipe.stage_ranks = {0, 1, -1, 0};
  EXPECT_THAT(refusal(recipe), HasSubstr("there is no rank -1"));
  recipe.stage_ranks = {0, 1, 1};
  EXPECT_EQ(refusal(recipe),
            "--stage-ranks 0,1,1 is a list of 3 stages, but --stages is 4: it has the rank of "
            "every stage");
  recipe.stages = 3;
  recipe.chunks = 3;
  EXPECT_EQ(refusal(recipe),
            "--stage-ranks 0,1,1 says how many stages each rank holds, and so does "
            "--pipeline.chunks 3: leave out one of the two");
  recipe.chunks = 0;
  recipe.schedule = "1f1b";
  EXPECT_EQ(refusal(recipe),
            "the schedule 1f1b places stages itself: leave out --stage-ranks; looped-bfs, searched "
            "schedules and CSV files take any placement");
  recipe.schedule = "mine.csv";
  recipe.csv = "F0.0,F1.0,B1.0,B0.0\nF2.0,B2.0\n";
  recipe.micro_batches = 1;
  recipe.stage_ranks = {0, 1, 1};
  EXPECT_EQ(refusal(recipe),
            "mine.csv has stages on other ranks than --stage-ranks 0,1,1: it has them on 0,0,1; "
            "leave out --stage-ranks");
}

TEST(Recipe, ModesOfRecomputingAreThoseOfTheLowering) {
  Recipe recipe{.schedule = "1f1b", .stages = 3, .micro_batches = 4};
  EXPECT_EQ(count(training_schedule(recipe).schedule, Op::Recompute), 0);
  recipe.recompute = "stage";  // the last stage turns around at once
  EXPECT_EQ(count(training_schedule(recipe).schedule, Op::Recompute), 2 * 4);
  recipe.recompute = "layer";
  EXPECT_EQ(count(training_schedule(recipe).schedule, Op::Recompute), 3 * 4);
  EXPECT_EQ(count(training_schedule(recipe).schedule, Op::ReduceGradients), 0);
  recipe.replicas = 2;
  EXPECT_EQ(count(training_schedule(recipe).schedule, Op::ReduceGradients), 3);
  EXPECT_EQ(count(evaluation_schedule(recipe).schedule, Op::Backward), 0);
}

// zb-h1 puts weight gradients off, the more the later the rank; a whole backward leaves none.
TEST(Recipe, ItsProofCountsStashesAndWeightHalves) {
  const Proof proof =
      training_schedule({.schedule = "zb-h1", .stages = 4, .micro_batches = 8}).proof;
  EXPECT_THAT(proof.peak_stash, ElementsAre(4, 3, 2, 1));
  EXPECT_THAT(proof.peak_weight_halves, ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(training_schedule({.stages = 2, .micro_batches = 2}).proof.peak_weight_halves,
              ElementsAre(0, 0));
}

TEST(Recipe, HasItsWarmUp) {
  const Recipe recipe{.stages = 4, .micro_batches = 16, .warm_up = 2};
  EXPECT_THAT(training_schedule(recipe).proof.peak_stash, ElementsAre(6, 5, 3, 1));
}

TEST(Recipe, IsProvedUnderTheRulesOfTheTransport) {
  const Recipe recipe{.schedule = "looped-bfs", .stages = 4, .micro_batches = 8};
  EXPECT_NO_THROW((void)training_schedule(recipe));
  EXPECT_THAT(message_of([&] { return training_schedule(recipe, {.window = 2}); }),
              HasSubstr("deadlock with a window of 2 messages"));
}

TEST(Recipe, RefusesWithASentenceThatNamesTheOption) {
  const auto refusal = [](const Recipe& recipe) {
    return message_of([&] { return training_schedule(recipe); });
  };
  EXPECT_EQ(refusal({.recompute = "all"}), "--recompute must be none, stage or layer, not all");
  EXPECT_EQ(
      refusal({.schedule = "zb-v", .stages = 3}),
      "--stages is 3, but with the schedule zb-v every rank holds 2 stages: take a multiple of 2");
  EXPECT_THAT(refusal({.schedule = "2f2b"}), HasSubstr("known are gpipe, 1f1b"));
  EXPECT_THAT(refusal({.stages = 0}), HasSubstr("--stages is 0"));
  EXPECT_EQ(refusal({.schedule = "mine.csv", .csv = "F0.0,B0.0\n", .stages = 2}),
            "mine.csv is a schedule of 1 stage and 1 micro-batch, but the run has 2 and 1: set "
            "--stages 1 --micro-batches 1");
  EXPECT_EQ(refusal({.schedule = "mine.csv", .csv = "F0.0,B0.0\n", .warm_up = 2}),
            "mine.csv says itself how deep its warm-up is: leave out --warm-up 2");
  EXPECT_EQ(refusal({.schedule = "mine.csv", .csv = "F0.0,F0.1,B0.0\n", .micro_batches = 2}),
            "mine.csv: bad schedule: rank 0 lacks B0.1: stage 0 never differentiates micro-batch 1 "
            "(each rank has a line of its own, rank 0 the first that is no comment)");
  EXPECT_THAT(refusal({.schedule = "gpipe", .stages = 2, .warm_up = 1}),
              HasSubstr("gpipe has no warm-up"));
}

TEST(Recipe, KeptStagesRecomputeNothing) {
  Recipe recipe{.schedule = "gpipe",
                .stages = 3,
                .micro_batches = 4,
                .recompute = "stage",
                .kept_stages = {1}};
  const Schedule schedule = training_schedule(recipe).schedule;
  for (int stage = 0; stage < 3; ++stage) {
    const auto& program = schedule.program[stage];
    const auto again = std::ranges::count(program, Op::Recompute, &Instruction::op);
    EXPECT_EQ(again, stage == 1 ? 0 : 4) << stage;
  }
  recipe.kept_stages = {0, 1, 2};
  Recipe none = recipe;
  none.kept_stages = {};
  none.recompute = "none";
  EXPECT_EQ(training_schedule(recipe).schedule.program, training_schedule(none).schedule.program);
}

TEST(Recipe, KeptStagesThatMakeNoSenseAreRefused) {
  const auto kept = [](const std::string& mode, const std::vector<int>& stages) -> std::string {
    try {
      (void)training_schedule(
          {.stages = 3, .micro_batches = 4, .recompute = mode, .kept_stages = stages});
    } catch (const std::invalid_argument& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(
      kept("layer", {1}),
      "--kept-stages is for --recompute stage, and the mode is layer: leave out one of the two");
  EXPECT_EQ(kept("stage", {0, 3}), "--kept-stages lists stage 3, and stages are 0 to 2");
  EXPECT_EQ(kept("stage", {1, 0, 1}), "--kept-stages lists stage 1 twice");
  EXPECT_EQ(kept("stage", {2, 1}), "");
}

TEST(Recipe, SaysInWordsWhatIsComputedAgain) {
  EXPECT_EQ(recompute_text("layer", std::vector<int>()), "layer");
  EXPECT_EQ(recompute_text("stage", std::vector<int>{2}), "stage but in stage 2");
  EXPECT_EQ(recompute_text("stage", std::vector<int64_t>{3, 0, 12}), "stage but in stages 3,0,12");
}

}  // namespace
}  // namespace penstock
