#include "runtime/schedule/timeline.h"

#include <algorithm>
#include <limits>

namespace penstock {
namespace {

struct Extent {
  double start, end;
};

double work(const std::vector<TimedInstruction>& spans) {
  double sum = 0;
  for (const TimedInstruction& span : spans) sum += span.end - span.start;
  return sum;
}

// From the first start to the last end of instructions that take time.
Extent extent(const std::vector<TimedInstruction>& spans) {
  Extent all{std::numeric_limits<double>::infinity(), 0};
  for (const TimedInstruction& span : spans) {
    if (span.end == span.start) continue;
    all.start = std::min(all.start, span.start);
    all.end = std::max(all.end, span.end);
  }
  return all.end == 0 ? Extent{0, 0} : all;
}

}  // namespace

double makespan(const Timeline& timeline) {
  double last = 0;
  double first = std::numeric_limits<double>::infinity();
  for (const auto& spans : timeline.rank) {
    const Extent all = extent(spans);
    if (all.end == all.start) continue;
    first = std::min(first, all.start);
    last = std::max(last, all.end);
  }
  return last == 0 ? 0 : last - first;
}

double makespan_bubble(const Timeline& timeline) {
  double busy = 0;
  for (const auto& spans : timeline.rank) busy += work(spans);
  return makespan(timeline) - busy / static_cast<double>(timeline.rank.size());
}

double span_bubble(const Timeline& timeline) {
  double largest = 0;
  for (const auto& spans : timeline.rank) {
    const Extent all = extent(spans);
    largest = std::max(largest, all.end - all.start - work(spans));
  }
  return largest;
}

}  // namespace penstock
