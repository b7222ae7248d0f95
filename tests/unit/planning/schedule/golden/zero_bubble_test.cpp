// Zero-bubble H1 and H2 (Qi et al. 2023) and V (Qi et al. 2024): bubbles and memory.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "tests/unit/planning/schedule/golden/support.h"

namespace penstock::golden {
namespace {

// The formulas hold where a weight gradient takes no longer than the others.
const std::vector<Times> kTimes = {{1, 1, 1}, {3, 4, 2}, {2, 5, 1}, {5, 3, 2}, {4, 3, 3}};

TEST(GoldenZeroBubble, H1) {
  for (int p = 1; p <= 8; ++p) {
    for (int m = p; m <= 24; ++m) {
      for (const Times& t : kTimes) {
        SCOPED_TRACE(::testing::Message() << p << " x " << m << ", F " << t.f << " I " << t.i);
        const Timeline timeline = run(zb_h1(p, m), t);
        const double work = m * (t.f + t.i + t.w);
        for (int i = 0; i < p; ++i) {
          ASSERT_EQ(span(timeline, i) - work, (p - 1 - i) * (t.f + t.i - t.w));
          ASSERT_EQ(peaks(zb_h1(p, m), 10, 3)[i], (p - i) * 10 + i * 3);
        }
        ASSERT_EQ(span_bubble(timeline), (p - 1) * (t.f + t.i - t.w));
        ASSERT_EQ(makespan_bubble(timeline), (p - 1) * (t.f + t.i - t.w));
      }
    }
  }
}

TEST(GoldenZeroBubble, H1OfFewMicroBatches) {
  for (int p = 1; p <= 8; ++p) {
    for (int m = 1; m <= 20; ++m) {
      const double expected = m <= p ? 2 * m + 2 * p - 1 : 3 * m + p - 1;
      ASSERT_EQ(makespan(run(zb_h1(p, m))), expected) << p << " x " << m;
      ASSERT_LE(expected, makespan(run(one_f_one_b(p, m))));
    }
  }
}

TEST(GoldenZeroBubble, H2) {
  for (int p = 1; p <= 8; ++p) {
    for (int m = 2 * p - 1; m <= 24; ++m) {
      for (const Times& t : kTimes) {
        SCOPED_TRACE(::testing::Message() << p << " x " << m << ", F " << t.f << " I " << t.i);
        const Timeline timeline = run(zb_h2(p, m), t);
        const double work = m * (t.f + t.i + t.w);
        const double own = t.f + t.i - 2 * t.w;
        for (int i = 0; i < p; ++i) {
          ASSERT_EQ(span(timeline, i) - work, (p - 1 - i) * own);
          ASSERT_EQ(peaks(zb_h2(p, m), 10, 3)[i], (2 * (p - i) - 1) * 10 + 2 * i * 3);
        }
        ASSERT_EQ(span_bubble(timeline), (p - 1) * own);
        ASSERT_EQ(makespan_bubble(timeline), (p - 1) * std::max(t.f, own));
        const double gain = makespan(run(zb_h1(p, m), t)) - makespan(timeline);
        ASSERT_EQ(gain, (p - 1) * std::min(t.w, t.i - t.w));
      }
    }
  }
}

// Each forward more in the warm-up fills the time of a weight half, down to what H2 cannot fill.
TEST(GoldenZeroBubble, H1WithADeeperWarmUp) {
  for (int p = 2; p <= 8; ++p) {
    for (int warm_up = 0; warm_up <= p + 2; ++warm_up) {
      for (const Times& t : kTimes) {
        const int m = p + warm_up + 2;
        SCOPED_TRACE(::testing::Message() << p << " + " << warm_up << ", F " << t.f);
        const double filled = (p - 1) * (t.f + t.i) - (p - 1 + warm_up) * t.w;
        const double bubble = makespan_bubble(run(zb_h1(p, m, warm_up), t));
        ASSERT_EQ(bubble, std::max((p - 1) * t.f, filled));
        ASSERT_EQ(known_schedule("zb-h1").bubble({p, 1, m, warm_up}, {t.f, t.i, t.w}), bubble);
        ASSERT_EQ(known_schedule("zb-h1").bubble({p, 1, p + warm_up - 1, warm_up}, {}),
                  std::nullopt);
      }
    }
  }
}

TEST(GoldenZeroBubble, V) {
  for (int p = 1; p <= 8; ++p) {
    for (int m = 2 * p - 1; m <= 20; ++m) {
      // The times of a chunk, T_W <= T_F <= T_I.
      for (const Times& chunk : {Times{1, 1, 1}, Times{2, 3, 1}, Times{3, 3, 2}, Times{4, 7, 2}}) {
        SCOPED_TRACE(::testing::Message() << p << " x " << m << ", I " << chunk.i);
        const Schedule s = zb_v(p, m);
        const Timeline timeline = run(s, {2 * chunk.f, 2 * chunk.i, 2 * chunk.w});
        ASSERT_EQ(span_bubble(timeline), 2 * (p - 1) * (chunk.i - chunk.w));
        ASSERT_EQ(makespan_bubble(timeline), (p - 1) * std::max(chunk.i, 2 * (chunk.i - chunk.w)));
        ASSERT_EQ(peaks(s), std::vector<double>(p, 2 * p));
      }
    }
  }
}

TEST(GoldenZeroBubble, VOfFewMicroBatches) {
  for (const auto& [m, extra] :
       {std::pair{1, 12}, std::pair{2, 10}, std::pair{4, 6}, std::pair{5, 4}, std::pair{6, 3},
        std::pair{7, 3}, std::pair{8, 3}, std::pair{20, 3}}) {
    EXPECT_EQ(makespan(run(zb_v(4, m), {2, 2, 2})), 6 * m + extra) << m;
  }
}

TEST(GoldenZeroBubble, VReadsInputsAndLabelsOnTheSameRank) {
  const Schedule s = zb_v(4, 2);
  EXPECT_EQ(s.rank_of_stage.front(), 0);
  EXPECT_EQ(s.rank_of_stage.back(), 0);
}

}  // namespace
}  // namespace penstock::golden
