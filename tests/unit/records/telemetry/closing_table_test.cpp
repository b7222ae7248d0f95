// The closing table of a small run, letter by letter.
#include "runtime/records/telemetry/closing_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace penstock {
namespace {

RunSummary example_run() {
  RunSummary summary;
  summary.ranks = summary.stages = 2;
  summary.micro_batches = 4;
  summary.schedule = "1f1b";
  summary.steps = 5000;
  summary.taken = 2000;  // the others by an earlier attempt
  summary.final_loss = 1.75;
  summary.samples_per_s = 569.4;
  summary.tokens_per_s = 36441.0;
  summary.bubble_measured = 0.241;
  summary.bubble_predicted = 0.2;
  summary.step_ms_median = 84.27;
  summary.step_ms_p95 = 91.0;
  summary.seconds = 169.0;
  summary.final_eval = EvalRecord{.step = 5000, .loss = 1.8812, .accuracy = {}};
  for (int r = 0; r < 2; ++r) {
    RankRecord rank;
    rank.rank = rank.stage = r;
    rank.layers = r == 0 ? "embedding .. blocks.1" : "blocks.2 .. loss";
    rank.parameters = 400000 + r;
    rank.memory.peak = {1600000, 1600000, 3200000, 9000000, 500, 0};
    rank.memory.total_peak = 15900500;
    rank.busy_fraction = 0.78;
    summary.ranks_detail.push_back(rank);
  }
  summary.ranks_detail[0].predicted_peak_bytes = 15000000;
  summary.forecast = ForecastRecord{.basis = "measured: p.json", .step_ms = 81.0};
  return summary;
}

TEST(ClosingTable, IsAligned) {
  EXPECT_EQ(
      closing_table(example_run()),
      R"(rank  stage  replica  layers                 parameters   weights  gradients  optimizer  activations  workspace  messages      peak  predicted    busy
   0      0        0  embedding .. blocks.1       400 k  1.53 MiB   1.53 MiB   3.05 MiB     8.58 MiB      500 B       0 B  15.2 MiB   14.3 MiB  78.0 %
   1      1        0  blocks.2 .. loss            400 k  1.53 MiB   1.53 MiB   3.05 MiB     8.58 MiB      500 B       0 B  15.2 MiB          -  78.0 %
throughput  569 samples/s, 36.4 k tokens/s
step        84.3 ms median, 91.0 ms 95th percentile; 2000 steps in 2 min 49 s
predicted   81.0 ms a step (measured: p.json)
bubble      24.1 % measured, 20.0 % predicted for K = 2, M = 4 (1f1b)
loss        1.7500, 1.8812 on validation data)");
}

TEST(ClosingTable, TellsADeeperWarmUp) {
  RunSummary summary = example_run();
  summary.schedule = "zb-h1";
  summary.warm_up = 3;
  EXPECT_THAT(closing_table(summary), ::testing::HasSubstr("for K = 2, M = 4 (zb-h1 +3)\n"));
}

TEST(ClosingTable, TellsStagesThatRecomputeNothing) {
  RunSummary summary = example_run();
  summary.schedule = "gpipe";
  summary.recompute = "stage";
  summary.kept_stages = {0, 1};
  EXPECT_THAT(closing_table(summary),
              ::testing::HasSubstr("M = 4 (gpipe, recompute stage but in stages 0,1)\n"));
}

TEST(ClosingTable, SaysHowUnevenTheLoadOfExpertsIs) {
  RunSummary summary = example_run();
  const std::vector<ExpertLoad> loads = {{.layer = "blocks.1.experts", .rows = {6, 0, 1, 1}}};
  add_loads(summary.experts, 5000, loads);
  EXPECT_THAT(closing_table(summary),
              ::testing::HasSubstr("\nexperts     fullest 3.00 x the mean in the last step "
                                   "(blocks.1.experts)"));
}

// It was shown as if it were of the last step.
TEST(ClosingTable, NamesTheStepOfAnOlderEvaluation) {
  RunSummary summary = example_run();
  summary.final_eval->step = 4000;
  EXPECT_THAT(closing_table(summary),
              ::testing::HasSubstr("1.8812 on validation data after step 4000"));
}

TEST(ClosingTable, HasNoPredictionWhereThereIsNone) {
  RunSummary summary = example_run();
  summary.forecast.reset();
  EXPECT_THAT(closing_table(summary), ::testing::Not(::testing::HasSubstr("a step (")));
}

TEST(ClosingTable, SaysHowBusyTheArithmeticWas) {
  RunSummary summary = example_run();
  summary.speed = Speed{
      .tflops = 412.37, .mfu = 0.417, .peak_tflops = 989.4, .peak_from = "published for H100 SXM"};
  summary.loss_share = 0.25;
  EXPECT_THAT(
      closing_table(summary),
      ::testing::HasSubstr("throughput  569 samples/s, 36.4 k tokens/s (25.0 % of them with "
                           "loss), 412 TFLOP/s per "
                           "rank (41.7 % of 989.4, published for H100 SXM)\n"));
}

TEST(ClosingTable, CountsTheRanksItLeavesOut) {
  RunSummary summary = example_run();
  summary.ranks_detail.resize(100);
  EXPECT_THAT(closing_table(summary), ::testing::HasSubstr("... and 36 ranks more"));
}

TEST(ClosingTable, TellsTheBestAndWhyItEnded) {
  RunSummary summary = example_run();
  summary.best = BestRecord{.metric = "accuracy", .step = 120, .value = 0.25};
  summary.ended_early = "no better accuracy";
  EXPECT_THAT(closing_table(summary),
              testing::HasSubstr("\nbest        accuracy 25.0 % after step 120\n"
                                 "ended       after step 5000: no better accuracy"));
}

}  // namespace
}  // namespace penstock
