// Schedules beside one another (DualPipeV: dualpipe_v_test.cpp): times, bubbles and memory of small
// pipelines. Forward, input gradient and weight gradient of a rank's layers take 1; stages of one
// rank share that.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/unit/planning/schedule/golden/support.h"

namespace penstock::golden {
namespace {

struct Row {
  std::string name;
  double makespan, bubble, largest_span, peak;  // peak: of the fullest rank, in whole ranks' layers
  std::vector<double> in_flight;                // by rank, in stages
};

TEST(GoldenValues, FourRanksAndEightMicroBatches) {
  for (const Row& row :
       {Row{"gpipe", 33, 9, 33, 8, {8, 8, 8, 8}}, Row{"1f1b", 33, 9, 33, 4, {4, 3, 2, 1}},
        Row{"interleaved-1f1b", 28.5, 4.5, 28.5, 5.5, {11, 9, 7, 5}},
        Row{"looped-bfs", 28.5, 4.5, 28.5, 8, {16, 16, 16, 16}},
        Row{"zb-h1", 27, 3, 27, 4, {4, 3, 2, 1}}, Row{"zb-h2", 27, 3, 24, 7, {7, 5, 3, 1}},
        Row{"zb-v", 25.5, 1.5, 24, 4, {8, 8, 8, 8}}, Row{"v-half", 28, 4, 28, 2.5, {5, 5, 5, 5}},
        Row{"v-min", 29.5, 5.5, 29.5, 2, {4, 4, 3, 4}}}) {
    SCOPED_TRACE(row.name);
    const Schedule s = make_schedule(row.name, 4, 8);
    const Timeline timeline = run(s);
    EXPECT_EQ(makespan(timeline), row.makespan);
    EXPECT_EQ(makespan_bubble(timeline), row.bubble);
    EXPECT_EQ(largest_span(timeline), row.largest_span);
    EXPECT_EQ(peaks(s), row.in_flight);
    EXPECT_EQ(row.in_flight[0] * s.ranks / s.stages, row.peak);
  }
}

TEST(GoldenValues, MemoryOfWeightGradientsToCome) {
  EXPECT_EQ(peaks(zb_h1(4, 8), 10, 3), (std::vector<double>{40, 33, 26, 19}));
  EXPECT_EQ(peaks(zb_h2(4, 8), 10, 3), (std::vector<double>{70, 56, 42, 28}));
}

struct Makespans {
  std::string name;
  double p2_m4, p3_m6, p4_m4, p4_m8;
};

TEST(GoldenValues, Makespans) {
  const std::vector<Makespans> table = {
      {"gpipe", 15, 24, 21, 33},  {"1f1b", 15, 24, 21, 33},
      {"zb-h1", 13, 20, 15, 27},  {"interleaved-1f1b", 13.5, 21, 16.5, 28.5},
      {"zb-h2", 13, 20, 16, 27},  {"zb-v", 12.5, 19, 15, 25.5},
      {"v-half", 13, 21, 16, 28}, {"v-min", 13.5, 22, 17.5, 29.5}};
  for (const auto& [name, p2_m4, p3_m6, p4_m4, p4_m8] : table) {
    const auto time = [&, name = name](int p, int m) {
      return makespan(run(make_schedule(name, p, m)));
    };
    EXPECT_EQ(time(2, 4), p2_m4) << name;
    EXPECT_EQ(time(3, 6), p3_m6) << name;
    EXPECT_EQ(time(4, 8), p4_m8) << name;
    EXPECT_EQ(time(4, 4), p4_m4) << name;
  }
}

// Lowering adds messages, which cost nothing here, and so no time.
TEST(GoldenValues, LoweringAddsNoTime) {
  for (const std::string& name : schedule_names()) {
    const Schedule s = make_schedule(name, 4, 8);
    const Schedule lowered = lower(s, {.reduce = true, .update = true});
    EXPECT_EQ(makespan(run(lowered)), makespan(run(s))) << name;
    EXPECT_EQ(peaks(lowered), peaks(s)) << name;
  }
}

}  // namespace
}  // namespace penstock::golden
