// What lower() inserts, and where, as whole programs.
#include "runtime/schedule/lower.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/schedule/generators.h"
#include "runtime/schedule/verify.h"
#include "tests/unit/schedule/support.h"

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
  // In halves too; and never in part of a stage: the last backward of GPipe's last rank follows no
  // forward of its own.
  EXPECT_EQ(order(lower(zb_h1(2, 2), options), 1),
            "RA1.0 F1.0 I1.0 SG1.0 RA1.1 F1.1 I1.1 SG1.1 W1.0 W1.1");
  EXPECT_EQ(order(lower(gpipe(2, 2), options), 1),
            order(lower(gpipe(2, 2), {.recompute = true}), 1));
  for (int stages = 1; stages <= 5; ++stages) {
    for (int m = 1; m <= 9; ++m) EXPECT_NO_THROW(verify(lower(one_f_one_b(stages, m), options)));
  }
}

TEST(Lower, GradientsLeaveBeforeTheReduction) {
  const Schedule s = lower(gpipe(2, 1), {.reduce = true, .update = true});
  EXPECT_EQ(order(s, 0), "F0.0 SA0.0 RG0.0 B0.0 RED0 OPT");
  EXPECT_EQ(order(s, 1), "RA1.0 F1.0 B1.0 SG1.0 RED1 OPT");
}

TEST(Lower, HalvesSendAfterTheInputGradientAndReduceAfterTheWeightGradient) {
  const Schedule s = lower(zb_h1(2, 2), {.recompute = true, .reduce = true, .update = true});
  EXPECT_EQ(order(s, 0),
            "F0.0 SA0.0 F0.1 SA0.1 R0.0 RG0.0 I0.0 W0.0 R0.1 RG0.1 I0.1 W0.1 RED0 OPT");
  EXPECT_EQ(order(s, 1),
            "RA1.0 F1.0 R1.0 I1.0 SG1.0 RA1.1 F1.1 R1.1 I1.1 SG1.1 W1.0 W1.1 RED1 OPT");
}

TEST(Lower, StagesOfOneRankHandOverDirectly) {
  const Schedule s = lower(zb_v(2, 1), {.reduce = true});
  EXPECT_EQ(order(s, 0), "F0.0 SA0.0 RA3.0 F3.0 I3.0 SG3.0 W3.0 RED3 RG0.0 I0.0 W0.0 RED0");
  EXPECT_EQ(order(s, 1), "RA1.0 F1.0 F2.0 SA2.0 RG2.0 I2.0 W2.0 RED2 I1.0 SG1.0 W1.0 RED1");
  EXPECT_EQ(order(lower(zb_v(1, 1), {}), 0), "F0.0 F1.0 I1.0 W1.0 I0.0 W0.0");
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
