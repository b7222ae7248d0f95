// The way from the [pipeline] section to programs: names and files, and the sentences for what does
// not fit.
#include "runtime/planning/blueprint/programs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "runtime/planning/schedule/generators/known_schedules.h"
#include "runtime/planning/schedule/text/csv.h"
#include "tests/unit/network/models/configs.h"

namespace penstock {
namespace {

using testing::AllOf;
using testing::HasSubstr;

PipelineConfig named(const char* schedule, int stages, int micro_batches) {
  PipelineConfig pipeline;
  pipeline.schedule = schedule;
  pipeline.stages = stages;
  pipeline.micro_batches = micro_batches;
  return pipeline;
}

// The same, as if its schedule had been read from a file.
PipelineConfig filed(const char* schedule, int ranks, int micro_batches) {
  const Schedule made = make_schedule(schedule, ranks, micro_batches);
  PipelineConfig pipeline = named("mine.csv", made.stages, made.micro_batches);
  pipeline.schedule_csv = to_csv(made);
  return pipeline;
}

std::string program_refusal(const PipelineConfig& pipeline) {
  return input_error_of([&] { (void)make_programs(pipeline); });
}

bool runs(const Schedule& schedule, Op op) {
  return std::any_of(schedule.program.begin(), schedule.program.end(), [&](const auto& program) {
    return std::any_of(program.begin(), program.end(),
                       [&](const Instruction& instruction) { return instruction.op == op; });
  });
}

TEST(Programs, OfAFileAreThoseOfItsName) {
  for (const char* schedule : {"gpipe", "1f1b", "zb-h1", "zb-v"}) {
    const PipelineConfig file = filed(schedule, 3, 5);
    const PipelineConfig name = named(schedule, file.stages, 5);
    EXPECT_EQ(stages_per_rank(file), stages_per_rank(name)) << schedule;
    EXPECT_EQ(ranks_per_pipeline(file), 3) << schedule;
    EXPECT_EQ(make_programs(file).training.program, make_programs(name).training.program)
        << schedule;
    EXPECT_EQ(make_programs(file).evaluation.program, make_programs(name).evaluation.program)
        << schedule;
  }
}

TEST(Programs, OfASearchedScheduleWaitForTheSearch) {
  PipelineConfig pipeline = named("searched", 4, 3);
  EXPECT_EQ(ranks_per_pipeline(pipeline), 4);
  EXPECT_THAT(program_refusal(pipeline), HasSubstr("is found when a training starts"));
  EXPECT_EQ(with_known_schedule(pipeline).schedule, "1f1b");
  pipeline.chunks = 2;
  EXPECT_EQ(ranks_per_pipeline(pipeline), 2);
  EXPECT_EQ(ranks_per_pipeline(with_known_schedule(pipeline)), 2);
  EXPECT_EQ(program_refusal(with_known_schedule(pipeline)), "nothing was thrown");
  EXPECT_EQ(with_known_schedule(named("zb-h1", 4, 3)).schedule, "zb-h1");
}

TEST(Programs, HoldWhatTheRunNeeds) {
  PipelineConfig pipeline = named("gpipe", 2, 4);
  pipeline.recompute = "none";
  const Programs plain = make_programs(pipeline);
  EXPECT_FALSE(runs(plain.training, Op::Recompute));
  EXPECT_FALSE(runs(plain.training, Op::ReduceGradients));
  EXPECT_TRUE(runs(plain.training, Op::OptimizerStep));
  EXPECT_FALSE(runs(plain.evaluation, Op::Backward));
  EXPECT_FALSE(runs(plain.evaluation, Op::OptimizerStep));
  pipeline.recompute = "stage";
  EXPECT_TRUE(runs(make_programs(pipeline).training, Op::Recompute));
  pipeline.replicas = 2;
  EXPECT_TRUE(runs(make_programs(pipeline).training, Op::ReduceGradients));
}

// Mode stage keeps the tape where a backward follows its forward at once; mode layer has the inside
// of the stage to run again all the same.
TEST(Programs, OfOneRankRecomputeInModeLayerOnly) {
  PipelineConfig pipeline = named("1f1b", 1, 4);
  pipeline.recompute = "stage";
  EXPECT_FALSE(runs(make_programs(pipeline).training, Op::Recompute));
  pipeline.recompute = "layer";
  EXPECT_TRUE(runs(make_programs(pipeline).training, Op::Recompute));
}

TEST(Programs, OfAFileForAnotherRunSayWhatToSet) {
  PipelineConfig pipeline = filed("zb-v", 2, 3);
  pipeline.stages = 6;
  EXPECT_EQ(program_refusal(pipeline),
            "mine.csv is a schedule of 4 stages and 3 micro-batches, but the run has 6 and 3: set "
            "--stages 4 --micro-batches 3");
  pipeline.stages = 4;
  pipeline.micro_batches = 8;
  EXPECT_THAT(program_refusal(pipeline),
              AllOf(HasSubstr("the run has 4 and 8"), HasSubstr("--stages 4 --micro-batches 3")));
  EXPECT_THAT(input_error_of([&] { (void)stages_per_rank(pipeline); }), HasSubstr("mine.csv"));
  EXPECT_THAT(input_error_of([&] { (void)ranks_per_pipeline(pipeline); }), HasSubstr("mine.csv"));
}

TEST(Programs, RefuseWhatIsNoSchedule) {
  PipelineConfig pipeline = named("mine.csv", 2, 1);
  pipeline.schedule_csv = "F0.0,B0.0\nF1.0,X1.0\n";
  EXPECT_THAT(program_refusal(pipeline), AllOf(HasSubstr("mine.csv"), HasSubstr("X1.0")));
  pipeline.schedule_csv = "F0.0,B0.0\nF1.0\n";  // stage 1 never goes back
  EXPECT_THAT(program_refusal(pipeline), HasSubstr("stage 1"));
  EXPECT_THAT(program_refusal(named("2f2b", 2, 2)), HasSubstr("2f2b"));
}

TEST(Programs, RefuseChunksThatDoNotDivideTheStages) {
  EXPECT_THAT(program_refusal(named("zb-v", 3, 4)),
              AllOf(HasSubstr("--stages is 3"), HasSubstr("the schedule zb-v"),
                    HasSubstr("holds 2 stages: take a multiple")));
  PipelineConfig pipeline = named("interleaved-1f1b", 8, 4);
  pipeline.chunks = 4;
  EXPECT_EQ(ranks_per_pipeline(pipeline), 2);
  EXPECT_EQ(make_programs(pipeline).training.ranks, 2);
  pipeline.chunks = 3;
  EXPECT_THAT(program_refusal(pipeline), HasSubstr("holds 3 stages: take a multiple"));
}

}  // namespace
}  // namespace penstock
