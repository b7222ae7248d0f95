// GPipe (Huang et al. 2019): the clock, the makespans with and without recompute, the bubble.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <tuple>
#include <vector>

#include "tests/unit/planning/schedule/golden/support.h"

namespace penstock::golden {
namespace {

const std::vector<Times> kTimes = {{1, 1, 1}, {3, 4, 2}, {2, 5, 1}};

// Cell (micro-batch a, stage b) runs in clock a + b.
TEST(GoldenGpipe, ForwardsKeepTheClock) {
  for (const auto& [m, p] : {std::tuple{1, 1}, std::tuple{1, 3}, std::tuple{3, 1}, std::tuple{3, 3},
                             std::tuple{4, 2}, std::tuple{7, 4}}) {
    const Timeline timeline = run(forward_only(p, m));
    std::vector<int> cells(m + p - 1, 0);
    for (int b = 0; b < p; ++b) {
      for (int a = 0; a < m; ++a) {
        EXPECT_EQ(timeline.rank[b][a].start, a + b);
        ++cells[a + b];
      }
    }
    for (int k = 0; k < m + p - 1; ++k) EXPECT_EQ(cells[k], std::min({k + 1, m, p, m + p - 1 - k}));
    EXPECT_EQ(makespan(timeline), m + p - 1);
  }
}

TEST(GoldenGpipe, MakespanAndBubble) {
  for (int p = 1; p <= 8; ++p) {
    for (int m = 1; m <= 20; ++m) {
      for (const Times& t : kTimes) {
        const Schedule s = gpipe(p, m);
        const Timeline timeline = run(s, t);
        ASSERT_EQ(makespan(timeline), (m + p - 1) * (t.f + t.i + t.w));
        ASSERT_EQ(makespan_bubble(timeline), (p - 1) * (t.f + t.i + t.w));
        ASSERT_NEAR(makespan_bubble(timeline) / makespan(timeline), (p - 1.0) / (m + p - 1), 1e-12);
        ASSERT_EQ(peaks(s), std::vector<double>(p, m));
      }
    }
  }
}

// Recomputes as lower() has them: before the wait for the gradient.
Schedule eager(int p, int m) {
  return lower(gpipe(p, m), {.recompute = true});
}

// Recomputes once the gradient is there.
Schedule lazy(int p, int m) {
  Schedule s = eager(p, m);
  for (auto& program : s.program) {
    for (size_t i = 0; i + 1 < program.size(); ++i) {
      const bool swap = program[i].op == Op::Recompute && program[i + 1].op == Op::RecvGradient;
      if (swap) std::swap(program[i], program[i + 1]);
    }
  }
  return s;
}

// Without the recomputes of one micro-batch, on the ranks from `first_rank` on.
Schedule except(Schedule s, int micro_batch, int first_rank) {
  for (int rank = first_rank; rank < s.ranks; ++rank) {
    std::erase_if(s.program[rank], [&](const Instruction& i) {
      return i.op == Op::Recompute && i.micro_batch == micro_batch;
    });
  }
  return s;
}

TEST(GoldenGpipe, RecomputeModes) {
  for (int p = 1; p <= 8; ++p) {
    for (int m = 1; m <= 20; ++m) {
      for (const Times& t : kTimes) {
        const double never = (m + p - 1) * (t.f + t.i + t.w);
        ASSERT_EQ(makespan(run(lazy(p, m), t)), never + (m + p - 1) * t.f);
        ASSERT_EQ(makespan(run(eager(p, m), t)), never + m * t.f);
        ASSERT_EQ(makespan(run(except(eager(p, m), m - 1, 0), t)), never + (m - 1) * t.f);
      }
    }
  }
}

// With F = R = 1, B = 2. `late` is the paper's formula for the idle share.
struct Row {
  int k, m;
  double late, early, skip_last, none, idle_late, idle_early;
};

TEST(GoldenGpipe, TableOfTimings) {
  for (const Row& row :
       {Row{2, 4, 20, 19, 18, 15, .2000, .1579}, Row{4, 4, 28, 25, 24, 21, .4286, .3600},
        Row{4, 8, 44, 41, 40, 33, .2727, .2195}, Row{4, 16, 76, 73, 72, 57, .1579, .1233},
        Row{4, 32, 140, 137, 136, 105, .0857, .0657}, Row{8, 8, 60, 53, 52, 45, .4667, .3962},
        Row{8, 32, 156, 149, 148, 117, .1795, .1409}}) {
    SCOPED_TRACE(::testing::Message() << "K = " << row.k << ", M = " << row.m);
    const Timeline late = run(lazy(row.k, row.m));
    const Timeline early = run(eager(row.k, row.m));
    EXPECT_EQ(makespan(late), row.late);
    EXPECT_EQ(makespan(early), row.early);
    // The last stage keeps what it differentiates first.
    EXPECT_EQ(makespan(run(except(eager(row.k, row.m), 0, row.k - 1))), row.skip_last);
    EXPECT_EQ(makespan(run(gpipe(row.k, row.m))), row.none);
    EXPECT_NEAR(makespan_bubble(late) / makespan(late), row.idle_late, 5e-5);
    EXPECT_NEAR(makespan_bubble(late) / makespan(late), (row.k - 1.0) / (row.m + row.k - 1), 1e-12);
    EXPECT_NEAR(makespan_bubble(early) / makespan(early), row.idle_early, 5e-5);
  }
}

TEST(GoldenGpipe, FormulasOfTheTable) {
  for (int k = 1; k <= 6; ++k) {
    for (int m = 1; m <= 12; ++m) {
      const double f = 3, r = 2, b = 7;
      PipelineCosts times;
      times.stage.assign(k, {.forward = f, .recompute = r, .backward = b});
      const Timeline early = simulate(eager(k, m), times);
      ASSERT_EQ(makespan(simulate(lazy(k, m), times)), (m + k - 1) * (f + r + b));
      ASSERT_EQ(makespan(early), (m + k - 1) * f + m * (r + b) + (k - 1) * b);
      ASSERT_EQ(makespan_bubble(early), (k - 1) * (f + b));
    }
  }
}

}  // namespace
}  // namespace penstock::golden
