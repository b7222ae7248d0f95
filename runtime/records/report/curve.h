// runtime/records/report/curve.h -- a curve with few enough points for a page, and none of its
// peaks lost.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace penstock {

struct CurvePoint {
  double x = 0, y = 0;  // y is NaN where the run told a number that is not finite
  bool operator==(const CurvePoint&) const = default;
};

// `points` by ascending x. At most 2 * buckets + 2 of them, in their order: all, where these are
// few enough; else the first, the last, and of each of `buckets` equal parts of the range of x the
// least and the greatest y. A part without any finite y keeps one point that is none, so that the
// gap can be drawn.
[[nodiscard]] std::vector<CurvePoint> thinned(std::span<const CurvePoint> points, size_t buckets);

// The mean of the finite y of each of `buckets` equal parts of the range of x, at their mean x;
// parts without any are left out.
[[nodiscard]] std::vector<CurvePoint> averaged(std::span<const CurvePoint> points, size_t buckets);

}  // namespace penstock
