// Lines about progress, and the rate that they show.
#include "runtime/records/telemetry/live_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace penstock {
namespace {

StepRecord live_step() {
  StepRecord record;
  record.step = 120;
  record.loss = 2.45128;
  record.grad_norm = 0.8312;
  record.learning_rate = 1e-3;
  record.samples = 48;
  record.tokens = record.loss_tokens = 3072;
  record.step_ms = 84.31;
  return record;
}

TEST(StepClock, LeavesTheFirstStepOut) {
  StepClock clock;
  StepRecord record = live_step();
  record.step_ms = 5000.0;
  clock.add(record);
  EXPECT_EQ(clock.average_ms(), 0.0);
  record.step_ms = 10.0;
  clock.add(record);
  EXPECT_EQ(clock.average_ms(), 10.0);
  record.step_ms = 20.0;
  clock.add(record);
  EXPECT_DOUBLE_EQ(clock.average_ms(), 11.0);
}

TEST(StepText, SaysEverythingOnce) {
  EXPECT_EQ(step_text(live_step(), 2000, 80.0, true),
            "step  120/2000 | loss 2.4513 | norm 0.831 | lr 1.00e-03 | 84.3 ms | 600 samples/s | "
            "38.4 k tokens/s");
  StepRecord record = live_step();
  record.loss_tokens = 384;
  EXPECT_THAT(step_text(record, 2000, 80.0, true),
              testing::HasSubstr("| 38.4 k tokens/s (12.5 % with loss)"));
  record.accuracy = 0.5;
  EXPECT_EQ(step_text(record, 2000, 0.0, false),
            "step  120/2000 | loss 2.4513 | accuracy 50.0 % | norm 0.831 | lr 1.00e-03 | 84.3 ms");
}

TEST(LiveText, HasABarAndTheTimeLeftAndFits) {
  const std::string full = live_text(live_step(), 240, 1000.0, false, 200);
  EXPECT_EQ(full,
            "[########........] 120/240 | loss 2.4513 | 2 min 00 s left | 1000 ms | 48 samples/s");
  EXPECT_EQ(live_text(live_step(), 240, 1000.0, false, 20), full.substr(0, 20));
  EXPECT_EQ(live_text(live_step(), 0, 0.0, false, 30).substr(0, 18), "[................]");
}

TEST(LiveText, HasTheEpochWhereTheRunIsGivenInEpochs) {
  StepRecord record = live_step();
  record.epoch = EpochRecord{.done = 1.256, .of = 3};
  EXPECT_THAT(live_text(record, 240, 0.0, false, 200),
              testing::HasSubstr("] 120/240 | epoch 1.26/3 | loss"));
  EXPECT_THAT(step_text(record, 240, 0.0, false),
              testing::StartsWith("step 120/240 | epoch 1.26/3 | loss"));
}

TEST(EvalText, NamesStepAndLoss) {
  EvalRecord record;
  record.step = 2000;
  record.loss = 1.8812;
  record.samples = 1115;
  record.seconds = 3.2;
  EXPECT_EQ(eval_text(record), "eval at step 2000 | loss 1.8812 | 1115 samples in 3.2 s");
  record.best = true;
  EXPECT_EQ(eval_text(record),
            "eval at step 2000 | loss 1.8812 | 1115 samples in 3.2 s | the best so far");
}

}  // namespace
}  // namespace penstock
