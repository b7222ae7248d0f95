// Lower bounds from heads, tails and bytes.
#include "runtime/planning/schedule/search/bounds/bound.h"

#include <algorithm>

namespace penstock {
namespace {

constexpr size_t kMostHeads = 4096;

struct PartOfRank {
  double head, time, tail;
};

std::vector<PartOfRank> parts_of(const StepWork& work, const HeadsAndTails& known, int rank) {
  std::vector<PartOfRank> parts;
  for (const int stage : work.stages_of_rank[rank]) {
    for (int j = 0; j < work.micro_batches; ++j) {
      for (int p = 0; p < kParts; ++p) {
        const auto part = static_cast<WorkPart>(p);
        const double time = part_time(work.stage[stage], part);
        const size_t i = part_index(work, stage, j, part);
        if (time > 0) parts.push_back({known.head[i], time, known.tail[i]});
      }
    }
  }
  return parts;
}

}  // namespace

bool says_more(const WorkBound& a, const WorkBound& b) {
  constexpr double kRounding = 1e-12;
  if (a.total() > b.total() * (1 + kRounding)) return true;
  return a.total() >= b.total() * (1 - kRounding) && a.work > b.work;
}

std::vector<double> round_trips(const StepWork& work) {
  std::vector<double> trips(work.stages);
  for (int s = work.stages - 1; s >= 0; --s) {
    const StageWork& stage = work.stage[s];
    double away = stage.recompute;
    if (s + 1 < work.stages) {
      away = std::max(away, 2 * (work.hop[s].on_link + work.hop[s].latency) + trips[s + 1]);
    }
    trips[s] = stage.forward + away + least_backward(stage).input;
  }
  return trips;
}

double work_from(const StepWork& work, const HeadsAndTails& known, int rank, double head,
                 double tail) {
  double sum = 0;
  for (const PartOfRank& part : parts_of(work, known, rank)) {
    if (part.head >= head && part.tail >= tail) sum += part.time;
  }
  return sum;
}

std::vector<WorkBound> work_bounds(const StepWork& work, const HeadsAndTails& known) {
  std::vector<WorkBound> bounds;
  for (int rank = 0; rank < work.ranks; ++rank) {
    std::vector<PartOfRank> parts = parts_of(work, known, rank);
    std::sort(parts.begin(), parts.end(),
              [](const PartOfRank& a, const PartOfRank& b) { return a.tail > b.tail; });
    std::vector<double> heads;
    heads.reserve(parts.size());
    for (const PartOfRank& part : parts) heads.push_back(part.head);
    std::sort(heads.begin(), heads.end());
    heads.erase(std::unique(heads.begin(), heads.end()), heads.end());
    WorkBound best{.rank = rank};
    // Only some of very many heads are tried: the bound of each holds by itself.
    const size_t stride = 1 + heads.size() / kMostHeads;
    for (size_t i = 0; i < heads.size(); i += stride) {
      const double head = heads[i];
      double sum = 0;
      for (const PartOfRank& part : parts) {
        if (part.head < head) continue;
        sum += part.time;
        const WorkBound bound{rank, head, sum, part.tail};
        if (says_more(bound, best)) best = bound;
      }
    }
    // The sum over all parts in one order, as a check makes it.
    best.work = work_from(work, known, rank, best.head, best.tail);
    bounds.push_back(best);
  }
  return bounds;
}

std::vector<MemoryBound> memory_bounds(const StepWork& work, const HeadsAndTails& known) {
  const std::vector<double> trips = round_trips(work);
  std::vector<MemoryBound> bounds;
  for (int rank = 0; rank < work.ranks; ++rank) {
    if (work.limit[rank] == kUnlimitedBytes) continue;
    double until_input = 0;
    double until_weight = 0;
    for (const int stage : work.stages_of_rank[rank]) {
      until_input += static_cast<double>(work.held[stage].until_input) * trips[stage];
      until_weight += static_cast<double>(work.held[stage].until_weight) *
                      least_backward(work.stage[stage]).weight;
    }
    const int first = work.stages_of_rank[rank].front();
    const double way = known.tail[part_index(work, first, work.micro_batches - 1, WorkPart::Input)];
    const double head = known.head[part_index(work, first, 0, WorkPart::Forward)];
    // The weight halves may be the last, so they are counted, or the way after the last input half.
    const int64_t limit = work.limit[rank];
    const MemoryBound all{rank, head, work.micro_batches * (until_input + until_weight), 0, limit};
    const MemoryBound inputs{rank, head, work.micro_batches * until_input, way, limit};
    bounds.push_back(all.total() > inputs.total() ? all : inputs);
  }
  return bounds;
}

double lower_bound(const StepWork& work, const HeadsAndTails& known) {
  double bound = 0;
  for (const WorkBound& each : work_bounds(work, known)) bound = std::max(bound, each.total());
  for (const MemoryBound& each : memory_bounds(work, known)) bound = std::max(bound, each.total());
  return bound;
}

}  // namespace penstock
