#include "runtime/records/report/curve.h"

#include <algorithm>
#include <cmath>

namespace penstock {
namespace {

// Appends to `kept` the points of the part with the least and the greatest y, in the order of the
// part. The part must not be empty.
void keep_extremes(std::span<const CurvePoint> part, std::vector<CurvePoint>& kept) {
  const CurvePoint* least = nullptr;
  const CurvePoint* greatest = nullptr;
  for (const CurvePoint& point : part) {
    if (!std::isfinite(point.y)) continue;
    if (least == nullptr || point.y < least->y) least = &point;
    if (greatest == nullptr || point.y > greatest->y) greatest = &point;
  }
  if (least == nullptr) {
    kept.push_back(part.front());
    return;
  }
  if (greatest < least) std::swap(least, greatest);
  kept.push_back(*least);
  if (greatest != least) kept.push_back(*greatest);
}

// Cuts the points into buckets of equal width in x. Calls take() with the points of each bucket
// that is not empty, in the order of the points.
template <class Take>
void each_part(std::span<const CurvePoint> points, size_t buckets, const Take& take) {
  const double first = points.front().x;
  const double width = (points.back().x - first) / static_cast<double>(buckets);
  size_t begin = 0;
  for (size_t bucket = 0; bucket < buckets && begin < points.size(); ++bucket) {
    const double until = first + width * static_cast<double>(bucket + 1);
    size_t end = begin;
    while (end < points.size() && (points[end].x < until || bucket + 1 == buckets)) ++end;
    if (end > begin) take(points.subspan(begin, end - begin));
    begin = end;
  }
}

}  // namespace

std::vector<CurvePoint> thinned(std::span<const CurvePoint> points, size_t buckets) {
  if (points.size() <= 2 * buckets + 2) return {points.begin(), points.end()};
  std::vector<CurvePoint> kept = {points.front()};
  kept.reserve(2 * buckets + 2);
  each_part(points.subspan(1, points.size() - 2), buckets,
            [&](std::span<const CurvePoint> part) { keep_extremes(part, kept); });
  kept.push_back(points.back());
  return kept;
}

std::vector<CurvePoint> averaged(std::span<const CurvePoint> points, size_t buckets) {
  std::vector<CurvePoint> means;
  if (points.empty()) return means;
  each_part(points, buckets, [&](std::span<const CurvePoint> part) {
    CurvePoint sum;
    double count = 0;
    for (const CurvePoint& point : part) {
      if (!std::isfinite(point.y)) continue;
      sum.x += point.x;
      sum.y += point.y;
      ++count;
    }
    if (count > 0) means.push_back({sum.x / count, sum.y / count});
  });
  return means;
}

}  // namespace penstock
