// Events of ranks in the order of a micro-batch, and the ways between them.
#include "runtime/planning/schedule/search/bounds/rank_events.h"

#include <algorithm>

#include "runtime/planning/schedule/search/bounds/bound.h"
#include "runtime/planning/schedule/search/bounds/heads_and_tails.h"

namespace penstock {
namespace {

double input_time(const StepWork& work, int stage) {
  return least_backward(work.stage[stage]).input;
}

// The time between the forwards of two stages, or between their input halves, without these two.
double way(const StepWork& work, int from, int to, bool backward) {
  double time = 0;
  for (int s = from; s < to; ++s) {
    time += work.hop[s].on_link + work.hop[s].latency;
    if (s > from) time += backward ? input_time(work, s) : work.stage[s].forward;
  }
  return time;
}

}  // namespace

std::vector<RankEvent> events_of(const StepWork& work, const std::vector<int>& ranks) {
  std::vector<RankEvent> events;
  for (int s = 0; s < work.stages; ++s) {
    const auto rank = std::ranges::find(ranks, work.rank_of_stage[s]);
    if (rank == ranks.end()) continue;
    const auto place = static_cast<int>(rank - ranks.begin());
    events.push_back({s, place, false, work.stage[s].forward});
  }
  for (size_t e = events.size(); e-- > 0;) {
    const int s = events[e].stage;
    events.push_back({s, events[e].rank, true, work.stage[s].recompute + input_time(work, s)});
  }
  return events;
}

std::vector<Lag> lags_of(const StepWork& work, const std::vector<RankEvent>& events) {
  const std::vector<double> trips = round_trips(work);
  const std::vector<int> most = most_in_flight(work);
  const std::vector<int> beside = halves_beside(work, most);
  const int count = static_cast<int>(events.size());
  const int turn = count / 2;  // the first input half
  std::vector<Lag> lags;
  const auto add = [&](int from, int to, int behind, double wait) {
    // What waits for a gradient may begin with its recompute, on another rank even before.
    if (events[to].backward) wait -= work.stage[events[to].stage].recompute;
    if (events[from].rank == events[to].rank) wait = std::max(0.0, wait);
    if (behind < work.micro_batches) lags.push_back({from, to, behind, wait});
  };
  for (int e = 0; e + 1 < turn; ++e) {
    const int s = events[e].stage;
    const int after = events[e + 1].stage;
    add(e, e + 1, 0, way(work, s, after, false));
    add(count - 2 - e, count - 1 - e, 0, way(work, s, after, true));
  }
  const int last = events[turn].stage;
  add(turn - 1, turn, 0, trips[last] - work.stage[last].forward - input_time(work, last));
  // Another stage whose rank has no room for one more before one has come back.
  for (int s = 0; s < work.stages; ++s) {
    const auto is_here = [&](const RankEvent& event) {
      return work.rank_of_stage[event.stage] == work.rank_of_stage[s];
    };
    if (std::ranges::any_of(events, is_here)) continue;
    // Where its rank has room for no weight half beside, one runs first, or the next input half.
    const LeastBackward backward = least_backward(work.stage[s]);
    const double first = beside[s] > 0  ? 0
                         : most[s] == 1 ? backward.weight
                                        : std::min(backward.weight, backward.input);
    int after = 0;
    while (after < turn && events[after].stage < s) ++after;
    if (after < turn) {
      const int next = events[after].stage;
      const double there = backward.input + first + work.stage[s].forward;
      add(count - 1 - after, after, most[s],
          way(work, s, next, true) + there + way(work, s, next, false));
    } else {
      add(turn - 1, turn, most[s],
          way(work, last, s, false) + 2 * trips[s] + first + way(work, last, s, true));
    }
  }
  return lags;
}

}  // namespace penstock
