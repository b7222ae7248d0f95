// Bytes in use, against the closed forms of the papers and small cases worked out by hand.
#include "runtime/planning/schedule/timing/memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "runtime/planning/schedule/generators/generators.h"
#include "runtime/planning/schedule/generators/known_schedules.h"
#include "runtime/planning/schedule/lower.h"
#include "tests/unit/planning/schedule/support.h"

namespace penstock {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

using Bytes = std::vector<int64_t>;

// Stages that keep `tape` from forward to the input gradient and `half` of it to the weight
// gradient, or `stash` where they recompute; tuples and what ops use on top count nothing.
Bytes peaks_of(const Schedule& plain, int64_t tape, int64_t half = 0, int64_t stash = 0) {
  const StageMemory memory{.forward = {stash, stash},
                           .forward_keep = {tape, tape},
                           .recompute = {tape - stash, tape - stash},
                           .backward = {-tape, 0},
                           .backward_input = {half - tape, 0},
                           .backward_weight = {-half, 0}};
  const Schedule s = lower(plain, {.recompute = stash > 0, .update = true});
  return peak_bytes(s, std::vector<StageMemory>(s.stages, memory));
}

TEST(Memory, GpipeHoldsEveryMicroBatch) {
  EXPECT_THAT(peaks_of(gpipe(4, 8), 10), Each(80));
}

TEST(Memory, OneFOneBHoldsAsManyAsThereAreStagesToCome) {
  EXPECT_THAT(peaks_of(one_f_one_b(4, 8), 10), ElementsAre(40, 30, 20, 10));
  EXPECT_THAT(peaks_of(one_f_one_b(4, 2), 10), ElementsAre(20, 20, 20, 10));
  EXPECT_THAT(peaks_of(make_schedule("1f1b-deep", 4, 20), 10), ElementsAre(70, 50, 30, 10));
}

TEST(Memory, InterleavedHoldsMoreChunks) {
  EXPECT_THAT(peaks_of(interleaved(4, 2, 8), 5), ElementsAre(55, 45, 35, 25));
}

TEST(Memory, ZeroBubbleKeepsWhatWeightGradientsNeed) {
  for (int p = 1; p <= 8; ++p) {
    Bytes expected;
    for (int i = 0; i < p; ++i) expected.push_back((p - i) * 10 + i * 3);
    EXPECT_EQ(peaks_of(zb_h1(p, 2 * p), 10, 3), expected) << p << " ranks";
  }
  EXPECT_THAT(peaks_of(zb_h1(4, 8), 10, 3), ElementsAre(40, 33, 26, 19));
}

TEST(Memory, ZeroBubbleVIsTheSameOnEveryRank) {
  for (int p = 1; p <= 6; ++p) {
    EXPECT_THAT(peaks_of(zb_v(p, 2 * p + 3), 10, 0), Each(2 * p * 10)) << p << " ranks";
  }
}

TEST(Memory, RecomputingHoldsStashesAndOneTape) {
  EXPECT_THAT(peaks_of(gpipe(4, 8), 100, 0, 1), Each(7 * 1 + 100));
  EXPECT_THAT(peaks_of(one_f_one_b(3, 8), 100, 0, 1), ElementsAre(102, 101, 100));
}

TEST(Memory, StagesThatKeepTheTapeAreNotTakenForOthers) {
  StageMemory memory;
  memory.forward = {.held = 1, .peak = 1};
  memory.forward_keep = {.held = 50, .peak = 50};
  memory.recompute = {.held = 99, .peak = 99};
  memory.backward = {.held = -100, .peak = 0};
  std::vector<StageMemory> both(2, memory);
  both[1].backward.held = -50;
  const Schedule s = lower(one_f_one_b(2, 4), {.recompute = true, .keep_adjacent = true});
  EXPECT_THAT(peak_bytes(s, both), ElementsAre(101, 50));
}

TEST(Memory, WhatAnOpUsesOnTopIsGoneAfterwards) {
  StageMemory memory;
  memory.forward_keep = {.held = 10, .peak = 17};
  memory.backward = {.held = -10, .peak = 30};
  const std::vector<StageMemory> one(1, memory);
  EXPECT_THAT(peak_bytes(lower(gpipe(1, 2), {}), one), ElementsAre(20 + 30));
  memory.backward.peak = 5;
  EXPECT_THAT(peak_bytes(lower(gpipe(1, 2), {}), std::vector{memory}), ElementsAre(10 + 17));
}

// Tuples: 8 bytes enter stage 1, 100 enter stage 2. A forward takes its inputs into the stash and
// leaves its outputs; a backward turns stash and gradient into the gradient of its inputs.
std::vector<StageMemory> three_stages() {
  std::vector<StageMemory> memory(3);
  memory[0].forward_keep = {8, 8};
  memory[0].backward = {-8, 0};
  memory[1].forward_keep = {100, 100};
  memory[1].backward = {-100, 8};
  memory[1].input_bytes = 8;
  memory[2].backward = {0, 100};
  memory[2].input_bytes = 100;
  return memory;
}

TEST(Memory, ReceivesBringTuplesInAndSendsTakeThemAway) {
  // Rank 0: a buffer for the gradient (8), and the outputs before they are sent.
  // Rank 1: a buffer from below (8), one from above (100), and the outputs (100); with one
  // micro-batch none is asked for again.
  // Rank 2: the input (100), which is the stash, and its gradient (100).
  EXPECT_THAT(peak_bytes(lower(gpipe(3, 1), {}), three_stages()),
              ElementsAre(8 + 8, 8 + 100 + 100, 100 + 100));
  // More micro-batches: while one is worked on, the next tuple of each kind has its buffer. Rank 1
  // is fullest in a backward: both buffers, two stashes, a gradient and what becomes of it.
  EXPECT_THAT(peak_bytes(lower(one_f_one_b(3, 5), {}), three_stages()),
              ElementsAre(8 + 8, (8 + 100) + 2 * 8 + 100 + 8, 100 + 100 + 100));
}

// Links that do not copy hold what they sent until a window of later messages has been sent: rank 0
// of three micro-batches has its gradient buffer, the outputs that it makes, and what was sent.
TEST(Memory, LinksHoldAWindowOfWhatTheySent) {
  const Schedule s = lower(gpipe(3, 3), {.update = true});
  const auto peak = [&](int window) {
    return peak_bytes(s, three_stages(), {}, {.window = window})[0];
  };
  EXPECT_EQ(peak(TransportRules::kSendsNeverWait), 8 + 8);
  EXPECT_EQ(peak(1), 8 + 8 + 1 * 8);
  EXPECT_EQ(peak(2), 8 + 8 + 2 * 8);
  const ByteCurve curve = byte_curve(s, three_stages(), {}, {.window = 2});
  for (const auto& rank : curve) EXPECT_EQ(rank.back().after, 0);  // all is handed over at the end
}

// MPI reads what was sent where it is: rank 0 of three micro-batches has it until a gradient comes
// back that stage 1 sent after it had taken it.
TEST(Memory, LinksHoldWhatNobodyHasTakenForCertain) {
  const TransportRules held{.holds_sent = true};
  const auto peaks = [&](const Schedule& plain) {
    return peak_bytes(lower(plain, {.update = true}), three_stages(), {}, held);
  };
  // All three outputs are under way when the last forward has run.
  EXPECT_EQ(peaks(gpipe(3, 3))[0], 8 + 3 * 8);
  // With 1f1b, two are under way before the first gradient; each gradient says that one has come.
  EXPECT_EQ(peaks(one_f_one_b(3, 8))[0], 8 + 3 * 8);
  const ByteCurve curve =
      byte_curve(lower(gpipe(3, 3), {.update = true}), three_stages(), {}, held);
  for (const auto& rank : curve) EXPECT_EQ(rank.back().after, 0);
}

TEST(Memory, PassesWithoutBackwardsAreWalkedToo) {
  std::vector<StageMemory> memory(2);
  memory[0].forward_keep = {.held = 8, .peak = 20};
  memory[1].forward_keep = {.held = -8, .peak = 30};
  memory[1].input_bytes = 8;
  const Schedule s = lower(forward_only(2, 3), {});
  EXPECT_THAT(forward_peak_bytes(s, memory), ElementsAre(20, 8 + 8 + 30));
  EXPECT_THAT(forward_peak_bytes(s, memory, {}, {.holds_sent = true}),
              ElementsAre(2 * 8 + 20, 8 + 8 + 30));
}

TEST(Memory, AnAuditTakesWhatItsLargestStageDoes) {
  StageMemory memory;
  memory.forward_keep = {.held = 10, .peak = 10};
  memory.backward = {.held = -10, .peak = 0};
  memory.audit_peak = 50;
  Schedule s = lower(gpipe(1, 1), {.update = true});
  EXPECT_THAT(peak_bytes(s, std::vector{memory}), ElementsAre(10));
  s.program[0].insert(s.program[0].end() - 1, {Op::Audit});
  EXPECT_THAT(peak_bytes(s, std::vector{memory}), ElementsAre(50));
}

TEST(Memory, TheCurveSaysWhatIsInUseWhen) {
  StageMemory memory;
  memory.forward_keep = {.held = 10, .peak = 17};
  memory.backward_input = {.held = -7, .peak = 5};
  memory.backward_weight = {.held = -3, .peak = 1};
  Schedule s = gpipe(1, 1);
  s.program[0] = {{Op::Forward, 0, 0}, {Op::BackwardInput, 0, 0}, {Op::BackwardWeight, 0, 0}};
  const ByteCurve curve = byte_curve(lower(s, {}), std::vector{memory});
  ASSERT_EQ(curve[0].size(), 3U);
  const auto expect = [&](size_t i, int64_t peak, int64_t after) {
    EXPECT_EQ(curve[0][i].peak, peak) << i;
    EXPECT_EQ(curve[0][i].after, after) << i;
  };
  expect(0, 17, 10);
  expect(1, 10 + 5, 3);
  expect(2, 3 + 1, 0);
}

TEST(Memory, StagesOfOneRankHandOverWithoutBuffers) {
  std::vector<StageMemory> memory(2);
  memory[0].forward_keep = {8, 8};
  memory[1].input_bytes = 8;
  memory[1].backward = {0, 8};
  memory[0].backward = {-8, 0};
  EXPECT_THAT(peak_bytes(lower(zb_v(1, 1), {}), memory), ElementsAre(8));
}

TEST(Memory, IsKnownForTrainingOnly) {
  const std::vector<StageMemory> two(2);
  EXPECT_THAT(message_of([&] { return peak_bytes(lower(gpipe(3, 2), {}), two); }),
              HasSubstr("the memory of 2 stages, but the schedule has 3"));
  EXPECT_THAT(message_of([&] { return peak_bytes(lower(forward_only(2, 2), {}), two); }),
              HasSubstr("stage 0 is never differentiated"));
  EXPECT_THAT(
      message_of([&] { return peak_bytes(lower(gpipe(2, 2), {}), two, std::vector<int64_t>{1}); }),
      HasSubstr("the bytes of 1 skips"));
}

}  // namespace
}  // namespace penstock
