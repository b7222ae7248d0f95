// Several stages per rank, looped: interleaved 1F1B (Narayanan et al. 2021) and breadth first
// (Lamy-Poirier 2022).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "tests/unit/planning/schedule/golden/support.h"

namespace penstock::golden {
namespace {

constexpr Times kUneven{4, 8, 4};  // whole numbers still when shared among up to four chunks

TEST(GoldenInterleaved, MakespanAndMemory) {
  for (int p = 1; p <= 6; ++p) {
    for (const int v : {1, 2, 4}) {
      for (int m = p; m <= 5 * p; m += p) {
        SCOPED_TRACE(::testing::Message() << p << " x " << m << ", " << v << " chunks");
        const Schedule s = interleaved(p, v, m);
        ASSERT_EQ(makespan(run(s, kUneven)), m * 16 + (p - 1) * 16.0 / v);
        ASSERT_EQ(makespan_bubble(run(s, kUneven)), (p - 1) * 16.0 / v);
        for (int r = 0; r < p; ++r) {
          const int warm_up = 2 * (p - 1 - r) + (v - 1) * p;
          ASSERT_EQ(peaks(s)[r], std::min(m * v, warm_up + 1));
        }
        ASSERT_EQ(peaks(s)[0], std::min(m * v, (v + 1) * p - 1));
      }
    }
  }
}

TEST(GoldenInterleaved, RaggedTakesNoLongerThanTheNextMultiple) {
  for (int p = 1; p <= 6; ++p) {
    for (int m = 1; m <= 20; ++m) {
      const int whole = (m + p - 1) / p * p;
      const double time = makespan(run(interleaved(p, 2, m)));
      ASSERT_LE(time, makespan(run(interleaved(p, 2, whole))));
      ASSERT_GE(time, 3 * m);
    }
  }
}

// Every stage but the last of all sends every micro-batch on: v times the messages of 1F1B, and
// those from the last rank back to the first.
TEST(GoldenInterleaved, SendsMore) {
  const auto sent = [](const Schedule& s) {
    const Schedule lowered = lower(s, {});
    std::ptrdiff_t count = 0;
    for (const auto& program : lowered.program) {
      count += std::count_if(program.begin(), program.end(), [](const Instruction& i) {
        return i.op == Op::SendActivation || i.op == Op::SendGradient;
      });
    }
    return count;
  };
  EXPECT_EQ(sent(one_f_one_b(4, 8)), 2 * 8 * 3);
  EXPECT_EQ(sent(interleaved(4, 2, 8)), 2 * 8 * 7);
  EXPECT_EQ(sent(interleaved(4, 3, 8)), 2 * 8 * 11);
  EXPECT_EQ(sent(zb_v(4, 8)), 2 * 8 * (2 * 3));
  EXPECT_EQ(sent(interleaved(1, 3, 8)), 0);
}

TEST(GoldenInterleaved, BreadthFirstTakesAsLongAndKeepsEverything) {
  for (int p = 1; p <= 6; ++p) {
    for (const int v : {1, 2, 4}) {
      for (int m = p; m <= 20; ++m) {
        SCOPED_TRACE(::testing::Message() << p << " x " << m << ", " << v << " chunks");
        const Schedule s = looped_bfs(p, v, m);
        ASSERT_EQ(makespan(run(s, kUneven)), m * 16 + (p - 1) * 16.0 / v);
        ASSERT_EQ(peaks(s), std::vector<double>(p, m * v));
      }
    }
  }
}

}  // namespace
}  // namespace penstock::golden
