// 1F1B (Narayanan et al. 2021), with a plain and with a deep warm-up: times, and what latency adds.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "tests/unit/planning/schedule/golden/support.h"

namespace penstock::golden {
namespace {

TEST(GoldenOneFOneB, MakespanSpanAndMemory) {
  for (int p = 1; p <= 8; ++p) {
    for (int m = 1; m <= 20; ++m) {
      for (const Times& t : {Times{1, 1, 1}, Times{3, 4, 2}, Times{2, 5, 1}}) {
        const Schedule s = one_f_one_b(p, m);
        const Timeline timeline = run(s, t);
        ASSERT_EQ(makespan(timeline), (m + p - 1) * (t.f + t.i + t.w));
        ASSERT_EQ(makespan(run(one_f_one_b_deep(p, m), t)), makespan(timeline));
        for (int i = 0; i < p; ++i) {
          ASSERT_EQ(span(timeline, i), (m + p - 1 - i) * (t.f + t.i + t.w));
          ASSERT_EQ(peaks(s)[i], std::min(m, p - i));
          ASSERT_EQ(peaks(one_f_one_b_deep(p, m))[i], std::min(m, 2 * (p - 1 - i) + 1));
        }
      }
    }
  }
}

// A backward takes twice as long as a forward, and a message at most as long as a forward.
TEST(GoldenOneFOneB, LatencyIsExposedPerMicroBatchUnlessTheWarmUpIsDeep) {
  for (int p = 1; p <= 8; ++p) {
    for (int m = 1; m <= 24; ++m) {
      for (const double c : {0.125, 0.5, 1.0}) {
        const auto extra = [&](const Schedule& s) {
          return makespan(run(s, {}, c)) - makespan(run(s));
        };
        SCOPED_TRACE(::testing::Message() << p << " x " << m << ", latency " << c);
        ASSERT_EQ(extra(gpipe(p, m)), 2 * c * (p - 1));
        ASSERT_EQ(extra(one_f_one_b(p, m)), 2 * c * ((p - 1) + (m - 1) * (p - 1) / p));
        ASSERT_EQ(extra(one_f_one_b_deep(p, m)), 2 * c * (p - 1));
      }
    }
  }
}

TEST(GoldenOneFOneB, LatencyOfEverySchedule) {
  const std::vector<std::pair<std::string, std::vector<double>>> table = {
      {"gpipe", {57, 57.6, 60, 63}},     {"1f1b", {57, 59.8, 71, 85}},
      {"1f1b-deep", {57, 57.6, 60, 63}}, {"interleaved-1f1b", {52.5, 53.9, 59.5, 75.5}},
      {"zb-h1", {51, 52.2, 57, 71}},     {"zb-v", {49.5, 50.8, 56.5, 65.5}}};
  for (const auto& [name, expected] : table) {
    const Schedule s = make_schedule(name, 4, 16);
    int column = 0;
    for (const double c : {0.0, 0.1, 0.5, 1.0}) {
      EXPECT_NEAR(makespan(run(s, {}, c)), expected[column++], 1e-9) << name << ", latency " << c;
    }
  }
}

}  // namespace
}  // namespace penstock::golden
