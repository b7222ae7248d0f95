// V-half and V-min (Qi et al. 2024): what share of 1F1B's memory and bubble they have.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/unit/planning/schedule/golden/support.h"

namespace penstock::golden {
namespace {

constexpr Times kChunks{2, 2, 2};  // of a rank; each op of one of its two stages takes 1

double bubble_of_chunks(const Schedule& s) {
  return makespan_bubble(run(s, kChunks));
}

// The unit is the time of one op of a stage; 1F1B's bubble is 6 (p - 1) of them.
TEST(GoldenStablePattern, Bubbles) {
  for (int p = 1; p <= 24; ++p) {
    for (int m = 1; m <= 2 * p + 3; ++m) {
      SCOPED_TRACE(::testing::Message() << p << " x " << m);
      ASSERT_EQ(bubble_of_chunks(v_min(p, m)), p == 1 ? 0 : p % 3 == 0 ? 4 * p - 4 : 4 * p - 5);
      if (m < p) continue;
      ASSERT_EQ(bubble_of_chunks(v_half(p, m)), p % 2 == 0 ? 3 * p - 4 : 3 * p - 3);
    }
  }
}

TEST(GoldenStablePattern, VHalfOfFewMicroBatches) {
  for (const auto& [m, expected] : {std::pair{1, 11}, std::pair{2, 9}, std::pair{3, 8}}) {
    EXPECT_EQ(bubble_of_chunks(v_half(4, m)), expected) << m;
  }
}

// The peaks of the paper's table, in whole ranks' layers of which a stage has half: p / 2 + 2 and
// (p + 4) / 3 rounded down, where what a weight half needs counts as much as a whole stash.
TEST(GoldenStablePattern, PeaksOfThePaper) {
  for (int p = 2; p <= 24; ++p) {
    const auto most = [&](const Schedule& s) {
      const std::vector<double> all = peaks(s, 0.5, 0.5);
      return *std::max_element(all.begin(), all.end());
    };
    ASSERT_EQ(most(v_half(p, 3 * p)), (p + 3) / 2.0) << p;
    ASSERT_EQ(most(v_min(p, 3 * p)), (p + 4) / 3) << p;
    ASSERT_EQ(most(zb_v(p, 3 * p)), p) << p;
  }
}

// What weight halves keep is little: without it V-half holds half of 1F1B's and half a stage more.
TEST(GoldenStablePattern, PeaksWithoutWeightHalves) {
  EXPECT_EQ(peaks(v_half(8, 16)), std::vector<double>(8, 9));
  EXPECT_EQ(peaks(v_half(7, 16)), std::vector<double>(7, 8));
  EXPECT_EQ(peaks(v_min(8, 16)), std::vector<double>(8, 6));
  EXPECT_EQ(peaks(v_min(7, 16)), (std::vector<double>{6, 6, 5, 6, 6, 5, 6}));
  EXPECT_EQ(peaks(v_min(6, 16)), (std::vector<double>{6, 6, 5, 6, 6, 5}));
}

// No rank waits in the middle of a long step: a further micro-batch takes a rank's work.
TEST(GoldenStablePattern, AFurtherMicroBatchTakesAsLongAsItsWork) {
  for (int p = 1; p <= 12; ++p) {
    for (Schedule (*const make)(int, int) : {v_half, v_min}) {
      EXPECT_EQ(makespan(run(make(p, 40), kChunks)) - makespan(run(make(p, 39), kChunks)), 6) << p;
    }
  }
}

}  // namespace
}  // namespace penstock::golden
