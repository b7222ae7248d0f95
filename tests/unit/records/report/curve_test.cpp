#include "runtime/records/report/curve.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace penstock {
namespace {

TEST(Thinned, LeavesShortCurvesAsTheyAre) {
  const std::vector<CurvePoint> points = {{1, 3}, {2, 1}, {2.1, 2}, {2.2, 4}, {10, 3}, {11, 1}};
  EXPECT_EQ(thinned(points, 2), points);
}

TEST(Thinned, KeepsTheEndsAndTheExtremesOfEveryPart) {
  const std::vector<CurvePoint> points = {{1, 5}, {2, 1}, {3, 9}, {4, 2},  {5, 3},
                                          {6, 8}, {7, 7}, {8, 6}, {9, 10}, {10, 4}};
  // Two parts of steps 2 to 9: up to 5.5, and from there on.
  EXPECT_EQ(thinned(points, 2),
            (std::vector<CurvePoint>{{1, 5}, {2, 1}, {3, 9}, {8, 6}, {9, 10}, {10, 4}}));
}

TEST(Thinned, LosesNoPeakOfAMillionSteps) {
  std::vector<CurvePoint> points;
  for (int i = 0; i < 1'000'000; ++i) points.push_back({double(i), std::sin(i * 1e-4)});
  points[123'456].y = 50;
  points[765'432].y = -50;
  const std::vector<CurvePoint> kept = thinned(points, 600);
  EXPECT_LE(kept.size(), 1202U);
  EXPECT_EQ(std::ranges::count(kept, points[123'456]), 1);
  EXPECT_EQ(std::ranges::count(kept, points[765'432]), 1);
  EXPECT_TRUE(std::ranges::is_sorted(kept, {}, &CurvePoint::x));
}

TEST(Thinned, ShowsAStretchWithoutFiniteValuesAsAGap) {
  std::vector<CurvePoint> points;
  for (int i = 0; i < 100; ++i) {
    const bool is_gap = i >= 20 && i < 80;
    points.push_back({double(i), is_gap ? std::numeric_limits<double>::quiet_NaN() : 1.0 + i});
  }
  const std::vector<CurvePoint> kept = thinned(points, 5);
  EXPECT_EQ(std::ranges::count_if(kept, [](const CurvePoint& p) { return std::isnan(p.y); }), 3);
  EXPECT_EQ(kept.back().y, 100);
}

TEST(Averaged, IsTheMeanOfEveryPart) {
  const double none = std::numeric_limits<double>::quiet_NaN();
  const std::vector<CurvePoint> points = {{0, 1}, {1, none}, {2, 3}, {6, 5}, {7, 6}, {10, 1}};
  EXPECT_EQ(averaged(points, 2), (std::vector<CurvePoint>{{1, 2}, {23.0 / 3, 4}}));
}

}  // namespace
}  // namespace penstock
