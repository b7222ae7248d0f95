// The pictures are the specification: expected results are drawn, not counted.
#include "runtime/planning/schedule/text/draw.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

#include "runtime/planning/schedule/generators/generators.h"
#include "runtime/planning/schedule/lower.h"
#include "runtime/planning/schedule/timing/simulate.h"
#include "tests/unit/planning/schedule/support.h"

namespace penstock {
namespace {

using ::testing::HasSubstr;

TEST(Draw, Gpipe) {
  EXPECT_EQ(draw(gpipe(3, 4)),
            "F0 F1 F2 F3                   B0=== B1=== B2=== B3===\n"
            "   F0 F1 F2 F3          B0=== B1=== B2=== B3===\n"
            "      F0 F1 F2 F3 B0=== B1=== B2=== B3===\n");
}

TEST(Draw, OneFOneB) {
  EXPECT_EQ(draw(one_f_one_b(3, 4)),
            "F0 F1 F2             B0=== F3 B1===    B2===    B3===\n"
            "   F0 F1       B0=== F2 B1=== F3 B2===    B3===\n"
            "      F0 B0=== F1 B1=== F2 B2=== F3 B3===\n");
}

TEST(Draw, VHalf) {
  EXPECT_EQ(draw(v_half(2, 2)),
            "F0.0 F0.1      F3.0 I3.0 W3.0      I0.0 F3.1 I3.1 W3.1 W0.0 I0.1 W0.1\n"
            "     F1.0 F2.0 F1.1      I2.0 I1.0 F2.1 W2.0 W1.0 I2.1 I1.1 W2.1 W1.1\n");
}

TEST(Draw, VMin) {
  EXPECT_EQ(draw(v_min(2, 2)),
            "F0.0           F3.0 I3.0 W3.0 F0.1 I0.0 W0.0 F3.1 I3.1 W3.1      I0.1 W0.1\n"
            "     F1.0 F2.0           I2.0 I1.0 F1.1 F2.1 W2.0 W1.0 I2.1 I1.1 W2.1 W1.1\n");
}

TEST(Draw, ZeroBubbleFillsTheCoolDown) {
  EXPECT_EQ(draw(zb_h1(3, 4)),
            "F0 F1 F2       I0 W0 F3 I1 W1 I2 W2 I3 W3\n"
            "   F0 F1    I0 F2 I1 W0 F3 I2 W1 I3 W2 W3\n"
            "      F0 I0 F1 I1 F2 I2 W0 F3 I3 W1 W2 W3\n");
}

TEST(Draw, StagesAreNamedWhereARankHoldsSeveral) {
  EXPECT_EQ(draw(zb_v(2, 1)),
            "F0.0           F3.0 I3.0 W3.0           I0.0 W0.0\n"
            "     F1.0 F2.0           I2.0 W2.0 I1.0 W1.0\n");
}

TEST(Draw, OneRankHasNoBubble) {
  EXPECT_EQ(draw(one_f_one_b(1, 2)), "F0 B0=== F1 B1===\n");
  EXPECT_EQ(draw(forward_only(2, 2)), "F0 F1\n   F0 F1\n");
}

TEST(Draw, MessagesTakeNoTime) {
  const Schedule lowered = lower(one_f_one_b(3, 4), {.reduce = true, .update = true});
  EXPECT_EQ(draw(lowered), draw(one_f_one_b(3, 4)));
}

TEST(Draw, RecomputeHidesInTheWaitForTheGradient) {
  EXPECT_EQ(draw(lower(gpipe(2, 2), {.recompute = true})),
            "F0 F1 R0          B0=== R1 B1===\n"
            "   F0 F1 R0 B0=== R1 B1===\n");
}

TEST(Draw, AnEarlyReceiveHoldsBackWhatComesAfterIt) {
  Schedule s = lower(one_f_one_b(2, 2), {});
  // Rank 0: F0.0 SA0.0 F0.1 SA0.1 RG0.0 ...: wait for the gradient before the second forward.
  auto& program = s.program[0];
  std::rotate(program.begin() + 2, program.begin() + 4, program.begin() + 5);
  EXPECT_EQ(order(s, 0), "F0.0 SA0.0 RG0.0 F0.1 SA0.1 B0.0 RG0.1 B0.1");
  EXPECT_EQ(draw(s), "F0          F1 B0===    B1===\n   F0 B0===    F1 B1===\n");
}

// Every rank of zb-h1 is done after 27 units of time, of 1f1b after 33: a slot for every op,
// whether half a backward or a whole one, once drew zb-h1 as the slower.
TEST(Draw, WhatIsFasterIsShorter) {
  const auto length = [](const std::string& picture) { return picture.find('\n'); };
  EXPECT_EQ(length(draw(zb_h1(4, 8))), 27 * 3 - 1U);
  EXPECT_EQ(length(draw(one_f_one_b(4, 8))), 33 * 3 - 1U);
  EXPECT_EQ(length(draw(zb_h1(4, 8), 27)), 27U);
  EXPECT_EQ(length(draw(one_f_one_b(4, 8), 33)), 33U);
}

TEST(Draw, CellsAreAsLongAsTheyTake) {
  const auto picture = [](const StageTimes& times, int columns = 0) {
    const Schedule s = gpipe(2, 1);
    PipelineCosts costs;
    costs.stage.assign(2, times);
    return draw(s, simulate(s, costs), columns);
  };
  EXPECT_EQ(picture({.forward = 2, .backward = 3}),
            "F0         B0=\n"
            "   F0 B0==\n");
  EXPECT_EQ(picture({.forward = 0, .backward = 1}), "   B0\nB0\n");  // no time, no cell
  EXPECT_EQ(picture({.forward = 1, .backward = 3}, 8), "F    BBB\n FBBB\n");
  EXPECT_EQ(picture({.forward = 1, .backward = 3}, 4), "F BB\nFBB\n");
  // A thousandth of the longest is no reason to draw it a thousand times as long.
  EXPECT_LT(picture({.forward = 0.001, .backward = 1}).size(), 200U);
  EXPECT_EQ(picture({.forward = 0, .backward = 0}), "\n\n");
}

TEST(Draw, SaysWhereAScheduleGetsStuck) {
  Schedule s = gpipe(2, 2);
  std::swap(s.program[0][0], s.program[0][3]);  // B0.1 first
  EXPECT_EQ(message_of([&] { return draw(s); }),
            "this schedule cannot run: it gets stuck at B0.1 (instruction 1 of rank 0)");
  s.program.pop_back();
  EXPECT_THAT(message_of([&] { return draw(s); }), HasSubstr("1 programs for 2 ranks"));
}

}  // namespace
}  // namespace penstock
