// Golden orders, closed forms of the peak stash, and refusals.
#include "runtime/planning/schedule/generators/generators.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "runtime/planning/schedule/generators/known_schedules.h"
#include "runtime/planning/schedule/lower.h"
#include "runtime/planning/schedule/proof/verify.h"
#include "tests/unit/planning/schedule/support.h"

namespace penstock {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(Gpipe, AllForwardsThenAllBackwardsAscending) {
  const Schedule s = gpipe(2, 3);
  EXPECT_EQ(order(s, 0), "F0.0 F0.1 F0.2 B0.0 B0.1 B0.2");
  EXPECT_EQ(order(s, 1), "F1.0 F1.1 F1.2 B1.0 B1.1 B1.2");
}

TEST(OneFOneB, GoldenOrder) {
  const Schedule s = one_f_one_b(3, 4);
  EXPECT_EQ(order(s, 0), "F0.0 F0.1 F0.2 B0.0 F0.3 B0.1 B0.2 B0.3");
  EXPECT_EQ(order(s, 1), "F1.0 F1.1 B1.0 F1.2 B1.1 F1.3 B1.2 B1.3");
  EXPECT_EQ(order(s, 2), "F2.0 B2.0 F2.1 B2.1 F2.2 B2.2 F2.3 B2.3");
}

TEST(OneFOneB, DeepWarmsUpTwiceAsFar) {
  const Schedule s = one_f_one_b_deep(3, 4);
  EXPECT_EQ(order(s, 0), "F0.0 F0.1 F0.2 F0.3 B0.0 B0.1 B0.2 B0.3");
  EXPECT_EQ(order(s, 1), "F1.0 F1.1 F1.2 B1.0 F1.3 B1.1 B1.2 B1.3");
  EXPECT_EQ(order(s, 2), "F2.0 B2.0 F2.1 B2.1 F2.2 B2.2 F2.3 B2.3");
}

// Rank 0 runs one forward more, and of the others each rounds its share of that up.
TEST(OneFOneB, WarmsUpAsDeepAsItIsAskedTo) {
  const Schedule s = one_f_one_b(3, 5, 1);
  EXPECT_EQ(order(s, 0), "F0.0 F0.1 F0.2 F0.3 B0.0 F0.4 B0.1 B0.2 B0.3 B0.4");
  EXPECT_EQ(order(s, 1), "F1.0 F1.1 F1.2 B1.0 F1.3 B1.1 F1.4 B1.2 B1.3 B1.4");
  EXPECT_EQ(order(s, 2), "F2.0 B2.0 F2.1 B2.1 F2.2 B2.2 F2.3 B2.3 F2.4 B2.4");
}

TEST(ZeroBubbleH1, WarmsUpAsDeepAsItIsAskedTo) {
  const Schedule s = zb_h1(3, 5, 1);
  EXPECT_EQ(order(s, 0),
            "F0.0 F0.1 F0.2 F0.3 I0.0 W0.0 F0.4 I0.1 W0.1 I0.2 W0.2 I0.3 W0.3 I0.4 W0.4");
  EXPECT_EQ(order(s, 1),
            "F1.0 F1.1 F1.2 I1.0 F1.3 I1.1 W1.0 F1.4 I1.2 W1.1 I1.3 W1.2 I1.4 W1.3 W1.4");
  EXPECT_EQ(order(s, 2),
            "F2.0 I2.0 F2.1 I2.1 F2.2 I2.2 F2.3 I2.3 W2.0 F2.4 I2.4 W2.1 W2.2 W2.3 W2.4");
}

TEST(Interleaved, GoldenOrder) {
  const Schedule s = interleaved(2, 2, 4);
  EXPECT_THAT(s.rank_of_stage, ElementsAre(0, 1, 0, 1));
  EXPECT_EQ(order(s, 0),
            "F0.0 F0.1 F2.0 F2.1 F0.2 B2.0 F0.3 B2.1 F2.2 B0.0 F2.3 B0.1 B2.2 B2.3 B0.2 B0.3");
  EXPECT_EQ(order(s, 1),
            "F1.0 F1.1 F3.0 B3.0 F3.1 B3.1 F1.2 B1.0 F1.3 B1.1 F3.2 B3.2 F3.3 B3.3 B1.2 B1.3");
}

TEST(ZeroBubbleH1, GoldenOrder) {
  const Schedule s = zb_h1(3, 4);
  EXPECT_EQ(order(s, 0), "F0.0 F0.1 F0.2 I0.0 W0.0 F0.3 I0.1 W0.1 I0.2 W0.2 I0.3 W0.3");
  EXPECT_EQ(order(s, 1), "F1.0 F1.1 I1.0 F1.2 I1.1 W1.0 F1.3 I1.2 W1.1 I1.3 W1.2 W1.3");
  EXPECT_EQ(order(s, 2), "F2.0 I2.0 F2.1 I2.1 F2.2 I2.2 W2.0 F2.3 I2.3 W2.1 W2.2 W2.3");
}

TEST(ZeroBubbleV, GoldenOrder) {
  const Schedule s = zb_v(2, 4);
  EXPECT_THAT(s.rank_of_stage, ElementsAre(0, 1, 1, 0));
  EXPECT_EQ(order(s, 0),
            "F0.0 F0.1 F0.2 F3.0 I3.0 W3.0 F3.1 I3.1 W3.1 F0.3 I0.0 W0.0 F3.2 I3.2 W3.2 "
            "I0.1 W0.1 F3.3 I3.3 W3.3 I0.2 W0.2 I0.3 W0.3");
  EXPECT_EQ(order(s, 1),
            "F1.0 F2.0 F1.1 F2.1 I2.0 W2.0 F1.2 I1.0 W1.0 F2.2 I2.1 W2.1 F1.3 I1.1 W1.1 "
            "F2.3 I2.2 W2.2 I1.2 I2.3 I1.3 W1.2 W2.3 W1.3");
}

TEST(ZeroBubbleH2, RunsTwiceAsFarAhead) {
  const Schedule s = zb_h2(3, 5);
  EXPECT_EQ(order(s, 0),
            "F0.0 F0.1 F0.2 F0.3 F0.4 I0.0 W0.0 I0.1 W0.1 I0.2 W0.2 I0.3 W0.3 I0.4 W0.4");
  EXPECT_EQ(order(s, 1),
            "F1.0 F1.1 F1.2 I1.0 F1.3 I1.1 F1.4 I1.2 W1.0 I1.3 W1.1 I1.4 W1.2 W1.3 W1.4");
  EXPECT_EQ(order(s, 2),
            "F2.0 I2.0 F2.1 I2.1 F2.2 I2.2 F2.3 I2.3 F2.4 I2.4 W2.0 W2.1 W2.2 W2.3 W2.4");
}

TEST(DualPipeV, GoldenOrder) {
  const Schedule s = dualpipe_v(2, 4);
  EXPECT_THAT(s.rank_of_stage, ElementsAre(0, 1, 1, 0));
  EXPECT_EQ(order(s, 0),
            "F0.0 F0.1 F0.2 F3.0 I3.0 W3.0 F3.1 F0.3 B3.1 F3.2 B0.0 B3.2 F3.3 B0.1 B3.3 I0.2 W0.2 "
            "I0.3 W0.3");
  EXPECT_EQ(order(s, 1),
            "F1.0 F2.0 F1.1 F2.1 F1.2 B2.0 F2.2 B1.0 F1.3 B2.1 F2.3 B1.1 B2.2 B1.2 I2.3 I1.3 W2.3 "
            "W1.3");
}

TEST(LoopedBfs, AllMicroBatchesOfAChunkAscendingBothWays) {
  const Schedule s = looped_bfs(2, 2, 2);
  EXPECT_THAT(s.rank_of_stage, ElementsAre(0, 1, 0, 1));
  EXPECT_EQ(order(s, 0), "F0.0 F0.1 F2.0 F2.1 B2.0 B2.1 B0.0 B0.1");
  EXPECT_EQ(order(s, 1), "F1.0 F1.1 F3.0 F3.1 B3.0 B3.1 B1.0 B1.1");
}

TEST(ForwardOnly, KeepsForwardsAndPlacement) {
  EXPECT_EQ(order(forward_only(2, 3), 1), "F1.0 F1.1 F1.2");
  const Schedule v = forward_only(zb_v(2, 2));
  EXPECT_THAT(v.rank_of_stage, ElementsAre(0, 1, 1, 0));
  EXPECT_EQ(order(v, 0), "F0.0 F0.1 F3.0 F3.1");
}

// Lowered in every way and proved, over a grid of sizes.
class EverySize : public ::testing::TestWithParam<std::string> {};

TEST_P(EverySize, IsProvedWithItsPeakStash) {
  const KnownSchedule& known = known_schedule(GetParam());
  for (int p = 1; p <= 16; ++p) {
    for (int m = 1; m <= 33; ++m) {
      const Schedule s = make_schedule(GetParam(), p, m);
      for (const bool recompute : {false, true}) {
        const Lowering options{.recompute = recompute, .reduce = true, .update = true};
        const Proof proof = verify(lower(s, options));
        for (int r = 0; r < p; ++r) {
          SCOPED_TRACE(::testing::Message()
                       << p << " ranks, " << m << " micro-batches, rank " << r);
          const auto peak = known.peak_stash({p, known.chunks, m}, r);
          if (peak) {
            ASSERT_EQ(proof.peak_stash[r], *peak);
          } else {  // the order was made for more micro-batches
            const int whole = (m / p + 2) * p;
            const int bound = *known.peak_stash({p, known.chunks, whole}, r);
            ASSERT_LE(proof.peak_stash[r], std::min(known.chunks * m, bound));
          }
        }
      }
      const Proof evaluation = verify(lower(forward_only(s), {}));
      ASSERT_EQ(evaluation.peak_stash, std::vector<int>(p, 0));
    }
  }
}

// Between the two depths that have names of their own, and beyond.
TEST(WarmUp, OfEveryDepthIsProvedWithItsPeakStash) {
  for (const char* const name : {"1f1b", "zb-h1"}) {
    for (int p = 1; p <= 6; ++p) {
      for (const int m : {1, 2, 3, 7, 20}) {
        for (const int warm_up : {0, 1, 2, 3, 5, 11, 65536}) {
          SCOPED_TRACE(::testing::Message() << name << ", " << p << " x " << m << ", " << warm_up);
          const Proof proof = verify(lower(make_schedule(name, p, m, 0, warm_up), {}));
          for (int r = 0; r < p; ++r) {
            ASSERT_EQ(proof.peak_stash[r], known_schedule(name).peak_stash({p, 1, m, warm_up}, r));
          }
        }
      }
    }
  }
  EXPECT_EQ(known_schedule("1f1b").peak_stash({4, 1, 20, 2}, 0), 4 + 2);
  EXPECT_EQ(known_schedule("1f1b").peak_stash({4, 1, 20, 2}, 1), 3 + 2);
  EXPECT_EQ(known_schedule("1f1b").peak_stash({4, 1, 20, 2}, 2), 2 + 1);
  EXPECT_EQ(known_schedule("1f1b").peak_stash({4, 1, 20, 2}, 3), 1);
}

TEST(WarmUp, IsRefusedWhereAScheduleHasNone) {
  EXPECT_EQ(message_of([] { return make_schedule("zb-v", 2, 4, 0, 3); }),
            "the schedule zb-v has no warm-up that --warm-up 3 could make deeper; 1f1b and zb-h1 "
            "have one");
  EXPECT_EQ(message_of([] { return make_schedule("1f1b", 2, 4, 0, -1); }),
            "--warm-up must be at least 0, not -1");
  for (const std::string& schedule : schedule_names()) {
    EXPECT_EQ(known_schedule(schedule).any_warm_up, schedule == "1f1b" || schedule == "zb-h1");
  }
}

std::string test_name(const ::testing::TestParamInfo<std::string>& schedule) {
  std::string name = schedule.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Schedules, EverySize, ::testing::ValuesIn(schedule_names()), test_name);

TEST(Interleaved, LeavesOutTheMicroBatchesThatDoNotExist) {
  for (const int m : {1, 2, 3, 5, 7}) {
    Schedule whole = interleaved(4, 2, 8);
    for (auto& program : whole.program) {
      std::erase_if(program, [&](const Instruction& i) { return i.micro_batch >= m; });
    }
    const Schedule expected = m <= 4 ? interleaved(4, 2, 4) : whole;
    const Schedule s = interleaved(4, 2, m);
    EXPECT_EQ(s.micro_batches, m);
    for (int rank = 0; rank < 4; ++rank) {
      std::vector<Instruction> program = expected.program[rank];
      std::erase_if(program, [&](const Instruction& i) { return i.micro_batch >= m; });
      EXPECT_EQ(s.program[rank], program) << m << " micro-batches, rank " << rank;
    }
  }
}

TEST(Interleaved, TakesAnyNumberOfChunks) {
  for (int chunks = 1; chunks <= 4; ++chunks) {
    for (int m = 1; m <= 9; ++m) EXPECT_NO_THROW(verify(lower(interleaved(4, chunks, m), {})));
    const Schedule s = make_schedule("interleaved-1f1b", 4, 8, chunks);
    EXPECT_EQ(s.stages, 4 * chunks);
    const Proof proof = verify(lower(s, {}));
    EXPECT_EQ(proof.peak_stash[0], std::min(8 * chunks, 6 + (chunks - 1) * 4 + 1));
  }
}

TEST(MakeSchedule, GivesWhatTheGeneratorGives) {
  EXPECT_EQ(make_schedule("gpipe", 3, 5).program, gpipe(3, 5).program);
  EXPECT_EQ(make_schedule("1f1b", 3, 5).program, one_f_one_b(3, 5).program);
  EXPECT_EQ(make_schedule("interleaved-1f1b", 3, 6).program, interleaved(3, 2, 6).program);
}

TEST(MakeSchedule, RefusesUnknownNamesListingTheKnown) {
  EXPECT_EQ(message_of([] { return make_schedule("1F1B", 2, 2); }),
            "there is no schedule \"1F1B\"; known are gpipe, 1f1b, 1f1b-deep, interleaved-1f1b, "
            "looped-bfs, zb-h1, zb-h2, zb-v, v-half, v-min, dualpipev");
}

TEST(MakeSchedule, RefusesChunksThatTheScheduleCannotHave) {
  EXPECT_THAT(message_of([] { return make_schedule("gpipe", 2, 2, 2); }),
              HasSubstr("gpipe has 1 stage(s) per rank, not 2"));
  EXPECT_THAT(message_of([] { return make_schedule("zb-v", 2, 2, 3); }),
              HasSubstr("zb-v has 2 stage(s) per rank, not 3"));
  EXPECT_THAT(message_of([] { return make_schedule("interleaved-1f1b", 2, 2, -1); }),
              HasSubstr("at least 1 stage, not -1"));
}

TEST(Generators, RefuseImpossibleSizes) {
  for (const std::string& name : schedule_names()) {
    EXPECT_THAT(message_of([&] { return make_schedule(name, 0, 4); }),
                HasSubstr("at least 1 rank, not 0"));
    EXPECT_THAT(message_of([&] { return make_schedule(name, 4, 0); }),
                HasSubstr("at least 1 micro-batch, not 0"));
    EXPECT_THAT(message_of([&] { return make_schedule(name, 4, 2'000'000'000); }),
                HasSubstr("2000000000 micro-batches are too many"));
    EXPECT_THAT(message_of([&] { return make_schedule(name, 2'000'000'000, 1); }),
                HasSubstr("is too large: with so many"));
  }
}

}  // namespace
}  // namespace penstock
