// The length of a timeline and its bubbles.
#include "runtime/planning/schedule/timing/timeline.h"

#include <algorithm>
#include <limits>

namespace penstock {
namespace {

using Spans = std::vector<TimedInstruction>;

// This is the time from the first start to the last end. While start > end, nothing was added.
struct Extent {
  double start = std::numeric_limits<double>::infinity();
  double end = -std::numeric_limits<double>::infinity();

  void add(double from, double to) {
    start = std::min(start, from);
    end = std::max(end, to);
  }
  [[nodiscard]] double length() const { return end > start ? end - start : 0; }
};

bool computes(const TimedInstruction& span) {
  return is_compute(span.instruction.op) && span.end > span.start;
}

Extent extent_of_compute(std::span<const TimedInstruction> spans) {
  Extent extent;
  for (const TimedInstruction& span : spans) {
    if (computes(span)) extent.add(span.start, span.end);
  }
  return extent;
}

double work(std::span<const TimedInstruction> spans) {
  double sum = 0;
  for (const TimedInstruction& span : spans) {
    if (computes(span)) sum += span.end - span.start;
  }
  return sum;
}

}  // namespace

double makespan(const Timeline& timeline) {
  Extent all;
  for (const Spans& spans : timeline.rank) {
    for (const TimedInstruction& span : spans) {
      if (span.end > span.start) all.add(span.start, span.end);
    }
  }
  return all.length();
}

double makespan_bubble(const Timeline& timeline) {
  Extent all;
  double busy = 0;
  for (const Spans& spans : timeline.rank) {
    const Extent rank = extent_of_compute(spans);
    all.add(rank.start, rank.end);
    busy += work(spans);
  }
  return all.length() - busy / static_cast<double>(timeline.rank.size());
}

double span_bubble(const Timeline& timeline) {
  double largest = 0;
  for (const Spans& spans : timeline.rank) {
    largest = std::max(largest, extent_of_compute(spans).length() - work(spans));
  }
  return largest;
}

double steady_bubble(const Timeline& timeline, double length) {
  double busy = 0;
  for (const Spans& spans : timeline.rank) busy += work(spans);
  const double all = length * static_cast<double>(timeline.rank.size());
  return all > 0 ? std::max(0.0, 1 - busy / all) : 0;
}

Occupancy occupancy(std::span<const TimedInstruction> instructions) {
  if (instructions.empty()) return {};
  const double end = extent_of_compute(instructions).end;
  return {work(instructions), std::max(0.0, end - instructions.front().start)};
}

double bubble_share(std::span<const Occupancy> ranks) {
  double busy = 0;
  double length = 0;
  for (const Occupancy& rank : ranks) {
    busy += rank.busy;
    length = std::max(length, rank.span);
  }
  if (length <= 0) return 0;
  // Rounding may leave a number a little below 0, which would be told as -0.0 %.
  return std::max(0.0, (length - busy / static_cast<double>(ranks.size())) / length);
}

double bubble_share(const Timeline& timeline) {
  double first = std::numeric_limits<double>::infinity();
  for (const Spans& spans : timeline.rank) {
    if (!spans.empty()) first = std::min(first, spans.front().start);
  }
  std::vector<Occupancy> ranks;
  for (const Spans& spans : timeline.rank) {
    Occupancy& rank = ranks.emplace_back(occupancy(spans));
    if (!spans.empty()) rank.span += spans.front().start - first;
  }
  return bubble_share(ranks);
}

}  // namespace penstock
