#include "runtime/run_page/curve.h"

#include <algorithm>
#include <cmath>

namespace penstock {
namespace {

// Of the points of one part, which is not empty.
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

}  // namespace

std::vector<CurvePoint> thinned(std::span<const CurvePoint> points, size_t buckets) {
  if (points.size() <= 2 * buckets + 2) return {points.begin(), points.end()};
  const std::span<const CurvePoint> inner = points.subspan(1, points.size() - 2);
  const double first = inner.front().x;
  const double width = (inner.back().x - first) / static_cast<double>(buckets);
  std::vector<CurvePoint> kept = {points.front()};
  kept.reserve(2 * buckets + 2);
  size_t begin = 0;
  for (size_t bucket = 0; bucket < buckets && begin < inner.size(); ++bucket) {
    const double until = first + width * static_cast<double>(bucket + 1);
    size_t end = begin;
    while (end < inner.size() && (inner[end].x < until || bucket + 1 == buckets)) ++end;
    if (end > begin) keep_extremes(inner.subspan(begin, end - begin), kept);
    begin = end;
  }
  kept.push_back(points.back());
  return kept;
}

}  // namespace penstock
