// When data are needed, and how many micro-batches' there are at once.
#include "runtime/planning/schedule/timing/data_use.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/planning/schedule/generators/known_schedules.h"
#include "runtime/planning/schedule/lower.h"

namespace penstock {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

Schedule lowered_for(const char* name, int ranks, int micro_batches, bool recompute = false) {
  return lower(make_schedule(name, ranks, micro_batches), {.recompute = recompute, .update = true});
}

DataUse use_of(const Schedule& schedule, int rank, const std::vector<int>& readers) {
  std::vector<bool> reads(static_cast<size_t>(schedule.stages), false);
  for (const int stage : readers) reads[static_cast<size_t>(stage)] = true;
  return data_use(schedule.program[static_cast<size_t>(rank)], reads);
}

// Rank 0 of two: F0 F1 B0 F2 B1 B2, with messages between.
TEST(DataUse, IsFromTheForwardToTheBackward) {
  const Schedule schedule = lowered_for("1f1b", 2, 3);
  const DataUse use = use_of(schedule, 0, {0, 1});
  EXPECT_THAT(use.order, ElementsAre(0, 1, 2));
  for (size_t place = 0; place < 3; ++place) {
    const Instruction first = schedule.program[0][use.first[place]];
    const Instruction last = schedule.program[0][use.last[place]];
    EXPECT_EQ(first.op, Op::Forward);
    EXPECT_EQ(last.op, Op::Backward);
    EXPECT_EQ(first.micro_batch, static_cast<int>(place));
    EXPECT_EQ(last.micro_batch, static_cast<int>(place));
  }
  EXPECT_EQ(most_data_held(use, 0), 2);
  EXPECT_EQ(most_data_held(use, 1), 3);
  EXPECT_EQ(most_data_held(use, 100), 3);
}

TEST(DataUse, OfStagesThatReadNothingIsNone) {
  const DataUse use = use_of(lowered_for("1f1b", 2, 3), 1, {0});
  EXPECT_THAT(use.order, IsEmpty());
  EXPECT_EQ(most_data_held(use, 2), 0);
}

// A rank of zb-v holds the first stage and the last: a micro-batch's data stay until the first is
// done with them.
TEST(DataUse, SpansAllStagesOfARank) {
  const Schedule schedule = lowered_for("zb-v", 2, 4);
  const DataUse both = use_of(schedule, 0, {0, 3});
  const DataUse last = use_of(schedule, 0, {3});
  ASSERT_EQ(both.order.size(), 4U);
  ASSERT_EQ(last.order.size(), 4U);
  EXPECT_LT(both.first[0], last.first[0]);
  EXPECT_GE(both.last[0], last.last[0]);
}

// What the schedule keeps in flight bounds what is held, not the number of micro-batches; gpipe
// keeps all in flight.
TEST(DataUse, DoesNotGrowWithTheMicroBatches) {
  for (const bool recompute : {false, true}) {
    const auto held = [&](const char* name, int micro_batches) {
      return most_data_held(use_of(lowered_for(name, 4, micro_batches, recompute), 0, {0}), 2);
    };
    for (const char* name : {"1f1b", "zb-h1"}) {
      EXPECT_EQ(held(name, 64), held(name, 16)) << name;
      EXPECT_LE(held(name, 64), 4 + 3) << name;
    }
    EXPECT_EQ(held("gpipe", 64), 64);
  }
}

}  // namespace
}  // namespace penstock
