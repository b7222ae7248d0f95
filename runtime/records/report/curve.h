// runtime/records/report/curve.h -- thins a curve to few enough points for a page, without losing
// its peaks.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace penstock {

struct CurvePoint {
  double x = 0, y = 0;  // y is NaN where the run told a number that is not finite
  bool operator==(const CurvePoint&) const = default;
};

// At most 2 * buckets + 2 of `points`, which are by ascending x, in their order: all, where they
// are few enough; else the first, the last, and of each of `buckets` equal parts of the range of x
// the least and the greatest y. A part without any finite y keeps one point, with NaN, so that the
// gap can be drawn.
[[nodiscard]] std::vector<CurvePoint> thinned(std::span<const CurvePoint> points, size_t buckets);

// The mean of the finite y of each of `buckets` equal parts of the range of x, at their mean x;
// parts without any are left out.
[[nodiscard]] std::vector<CurvePoint> averaged(std::span<const CurvePoint> points, size_t buckets);

}  // namespace penstock
