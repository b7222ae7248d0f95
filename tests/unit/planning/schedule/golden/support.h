// tests/unit/planning/schedule/golden/support.h -- what the golden tests share: times, spans and
// memory of schedules as the papers count them.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "runtime/planning/schedule/generators/generators.h"
#include "runtime/planning/schedule/generators/known_schedules.h"
#include "runtime/planning/schedule/lower.h"
#include "runtime/planning/schedule/timing/simulate.h"

namespace penstock::golden {

// The times of all layers of one rank on one micro-batch: f the forward's, i and w those of the
// backward's halves, for inputs and for weights.
struct Times {
  double f = 1, i = 1, w = 1;
};

// The costs when every rank has these times, in equal parts on each of its stages, and every
// message takes `latency`.
inline PipelineCosts costs(const Schedule& s, const Times& t = {}, double latency = 0) {
  const double share = static_cast<double>(s.ranks) / s.stages;
  const StageTimes stage{.forward = t.f * share,
                         .recompute = t.f * share,
                         .backward_input = t.i * share,
                         .backward_weight = t.w * share,
                         .backward = (t.i + t.w) * share};
  PipelineCosts result;
  result.stage.assign(s.stages, stage);
  result.within_node.latency = latency;
  return result;
}

inline Timeline run(const Schedule& s, const Times& t = {}, double latency = 0) {
  return simulate(s, costs(s, t, latency));
}

// The time from the first start to the last end of one rank's compute instructions.
inline double span(const Timeline& timeline, int rank) {
  const auto& all = timeline.rank[rank];
  double first = all.back().end;
  double last = 0;
  for (const TimedInstruction& timed : all) {
    if (!is_compute(timed.instruction.op)) continue;
    first = std::min(first, timed.start);
    last = std::max(last, timed.end);
  }
  return last - first;
}

// The largest span of all ranks.
inline double largest_span(const Timeline& timeline) {
  double largest = 0;
  for (int rank = 0; rank < static_cast<int>(timeline.rank.size()); ++rank) {
    largest = std::max(largest, span(timeline, rank));
  }
  return largest;
}

// The most that each rank holds at once: `whole` for every forward until its input gradient, and
// `weight`, a part of it, from there to its weight gradient.
inline std::vector<double> peaks(const Schedule& s, double whole = 1, double weight = 0) {
  std::vector<double> result;
  for (const auto& program : s.program) {
    double now = 0;
    double peak = 0;
    for (const Instruction& instruction : program) {
      if (instruction.op == Op::Forward) now += whole;
      if (instruction.op == Op::Backward) now -= whole;
      if (instruction.op == Op::BackwardInput) now -= whole - weight;
      if (instruction.op == Op::BackwardWeight) now -= weight;
      peak = std::max(peak, now);
    }
    result.push_back(peak);
  }
  return result;
}

}  // namespace penstock::golden
