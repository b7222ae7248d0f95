// What lower() inserts, and where, as whole programs.
#include "runtime/planning/schedule/lower.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/planning/schedule/generators/generators.h"
#include "runtime/planning/schedule/proof/verify.h"
#include "tests/unit/planning/schedule/support.h"

namespace penstock {
namespace {

using ::testing::HasSubstr;

TEST(Lower, MessagesStandNextToTheComputeThatNeedsThem) {
  const Schedule s = lower(one_f_one_b(3, 2), {});
  EXPECT_EQ(order(s, 0), "F0.0 SA0.0 F0.1 SA0.1 RG0.0 B0.0 RG0.1 B0.1");
  EXPECT_EQ(order(s, 1), "RA1.0 F1.0 SA1.0 RA1.1 F1.1 SA1.1 RG1.0 B1.0 SG1.0 RG1.1 B1.1 SG1.1");
  EXPECT_EQ(order(s, 2), "RA2.0 F2.0 B2.0 SG2.0 RA2.1 F2.1 B2.1 SG2.1");
}

TEST(Lower, RecomputeRunsBeforeTheWait) {
  const Schedule s = lower(gpipe(2, 2), {.recompute = true});
  EXPECT_EQ(order(s, 0), "F0.0 SA0.0 F0.1 SA0.1 R0.0 RG0.0 B0.0 R0.1 RG0.1 B0.1");
  EXPECT_EQ(order(s, 1), "RA1.0 F1.0 RA1.1 F1.1 R1.0 B1.0 SG1.0 R1.1 B1.1 SG1.1");
}

TEST(Lower, StagesThatTurnAroundAtOnceNeedNoRecompute) {
  const Lowering options{.recompute = true, .keep_adjacent = true};
  const Schedule s = lower(one_f_one_b(2, 2), options);
  EXPECT_EQ(order(s, 0), "F0.0 SA0.0 F0.1 SA0.1 R0.0 RG0.0 B0.0 R0.1 RG0.1 B0.1");
  EXPECT_EQ(order(s, 1), "RA1.0 F1.0 B1.0 SG1.0 RA1.1 F1.1 B1.1 SG1.1");
  // Backwards in halves need none either. The last backward of GPipe's last rank follows no forward
  // of its own, and a stage never goes without only in part.
  EXPECT_EQ(order(lower(zb_h1(2, 2), options), 1),
            "RA1.0 F1.0 I1.0 SG1.0 RA1.1 F1.1 I1.1 SG1.1 W1.0 W1.1");
  EXPECT_EQ(order(lower(gpipe(2, 2), options), 1),
            order(lower(gpipe(2, 2), {.recompute = true}), 1));
  for (int stages = 1; stages <= 5; ++stages) {
    for (int m = 1; m <= 9; ++m) EXPECT_NO_THROW(verify(lower(one_f_one_b(stages, m), options)));
  }
}

TEST(Lower, TheReductionGoesAlongWithTheLastWeightGradient) {
  const Schedule s = lower(gpipe(2, 1), {.reduce = true, .update = true});
  EXPECT_EQ(order(s, 0), "F0.0 SA0.0 RG0.0 RED0 B0.0 OPT");
  EXPECT_EQ(order(s, 1), "RA1.0 F1.0 RED1 B1.0 SG1.0 OPT");
}

TEST(Lower, HalvesSendAfterTheInputGradientAndReduceWithTheWeightGradient) {
  const Schedule s = lower(zb_h1(2, 2), {.recompute = true, .reduce = true, .update = true});
  EXPECT_EQ(order(s, 0),
            "F0.0 SA0.0 F0.1 SA0.1 R0.0 RG0.0 I0.0 W0.0 R0.1 RG0.1 I0.1 RED0 W0.1 OPT");
  EXPECT_EQ(order(s, 1),
            "RA1.0 F1.0 R1.0 I1.0 SG1.0 RA1.1 F1.1 R1.1 I1.1 SG1.1 W1.0 RED1 W1.1 OPT");
}

TEST(Lower, StagesOfOneRankHandOverDirectly) {
  const Schedule s = lower(zb_v(2, 1), {.reduce = true});
  EXPECT_EQ(order(s, 0), "F0.0 SA0.0 RA3.0 F3.0 I3.0 SG3.0 RED3 W3.0 RG0.0 I0.0 RED0 W0.0");
  EXPECT_EQ(order(s, 1), "RA1.0 F1.0 F2.0 SA2.0 RG2.0 I2.0 RED2 W2.0 I1.0 SG1.0 RED1 W1.0");
  EXPECT_EQ(order(lower(zb_v(1, 1), {}), 0), "F0.0 F1.0 I1.0 W1.0 I0.0 W0.0");
}

// Stage 0 hands to stage 3 over the heads of 1 and 2, and to stage 2; stage 2 and 3 share a rank
// with none of them. The nearest is sent to first, and the farthest received from.
TEST(Lower, SkipsTravelBesideTheNeighboursMessages) {
  Schedule s = gpipe(4, 1);
  s.skips = {{0, 3}, {0, 2}};
  s = lower(s, {.recompute = true, .reduce = true});
  EXPECT_EQ(s.skips, (std::vector<Skip>{{0, 3}, {0, 2}}));
  EXPECT_EQ(order(s, 0), "F0.0 SA0.0 SA0.0>2 SA0.0>3 R0.0 RG0.0<3 RG0.0<2 RG0.0 RED0 B0.0");
  EXPECT_EQ(order(s, 1), "RA1.0 F1.0 SA1.0 R1.0 RG1.0 RED1 B1.0 SG1.0");
  EXPECT_EQ(order(s, 2), "RA2.0<0 RA2.0 F2.0 SA2.0 R2.0 RG2.0 RED2 B2.0 SG2.0 SG2.0>0");
  EXPECT_EQ(order(s, 3), "RA3.0<0 RA3.0 F3.0 R3.0 RED3 B3.0 SG3.0 SG3.0>0");
}

TEST(Lower, ASkipWithinOneRankNeedsNoMessage) {
  Schedule s = zb_v(2, 1);
  s.skips = {{0, 3}};
  const Schedule plain = lower(zb_v(2, 1), {});
  EXPECT_EQ(lower(s, {}).program, plain.program);
  s = forward_only(s);
  s.skips.push_back({1, 3});
  EXPECT_EQ(order(lower(s, {}), 0), "F0.0 SA0.0 RA3.0<1 RA3.0 F3.0");
  EXPECT_EQ(order(lower(s, {}), 1), "RA1.0 F1.0 SA1.0>3 F2.0 SA2.0");
}

TEST(Lower, EvaluationHasOnlyForwardsAndTheirMessages) {
  const Schedule s = lower(forward_only(2, 2), {.recompute = true, .reduce = true});
  EXPECT_EQ(order(s, 0), "F0.0 SA0.0 F0.1 SA0.1");
  EXPECT_EQ(order(s, 1), "RA1.0 F1.0 RA1.1 F1.1");
}

TEST(Lower, RefusesWhatIsAlreadyLowered) {
  const Schedule once = lower(gpipe(2, 2), {});
  EXPECT_EQ(message_of([&] { return lower(once, {}); }),
            "SA0.0 (instruction 2 of rank 0) is no compute instruction; only those can be lowered");
}

TEST(Lower, RefusesAMalformedSchedule) {
  Schedule s = gpipe(2, 2);
  s.program[1][0].stage = 0;
  EXPECT_THAT(message_of([&] { return lower(s, {}); }),
              HasSubstr("F0.0 (instruction 1 of rank 1) names a stage of rank 0"));
}

}  // namespace
}  // namespace penstock
