// runtime/records/report/curve.h -- reduces a curve of many points (the loss of each step, say) to
// the few hundred that a page can show: thinned() keeps all peaks, averaged() gives a smooth line.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace penstock {

struct CurvePoint {
  double x = 0, y = 0;  // y is NaN where the run recorded a number that is not finite
  bool operator==(const CurvePoint&) const = default;
};

// Returns at most 2 * buckets + 2 of `points`, which must be by ascending x, in the same order. If
// there are no more, returns all. Otherwise returns the first, the last, and, for each of `buckets`
// parts of equal width in x, the points with the smallest and the largest y. Of a part in which no
// y is finite it keeps one point, so that a gap can be drawn.
[[nodiscard]] std::vector<CurvePoint> thinned(std::span<const CurvePoint> points, size_t buckets);

// Returns one point for each of `buckets` parts of equal width in x: the mean x and the mean y of
// its points with finite y. A part without such points gives none. `points` must be by ascending x.
[[nodiscard]] std::vector<CurvePoint> averaged(std::span<const CurvePoint> points, size_t buckets);

}  // namespace penstock
