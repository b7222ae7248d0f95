// A decision diagram of one rank's orders, relaxed where it is too wide (Bergman et al. 2016).
#include "runtime/planning/schedule/search/bounds/rank_orders.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>

#include "runtime/planning/schedule/search/bounds/bound.h"
#include "runtime/planning/schedule/search/bounds/rank_events.h"

namespace penstock {
namespace {

constexpr double kOrderRounding = 1e-9;
// The most states of a cell, and about as many of all cells in which as much has run.
constexpr int64_t kMostInCell = 48;
constexpr int64_t kMostInLevel = 128;
constexpr int64_t kMostCells = 1024;    // of these
constexpr int64_t kMostRuns = 250'000;  // steps from one state to the next

struct Rank {
  double clock = 0;
  double weights = 0;  // the time of the weight halves that have run
};

// One way, or what is better than several, to have run all that a cell says.
struct State {
  std::vector<Rank> ranks;
  // [event][after how many more]: when the event of that micro-batch may begin.
  std::vector<double> ready;
};

using Cell = std::vector<int>;  // by event: of how many micro-batches it has run

class RankOrders {
 public:
  RankOrders(const StepWork& work, const HeadsAndTails& known, const OrdersBound& bound)
      : work_(work),
        known_(known),
        ranks_(bound.ranks),
        end_(bound.total * (1 - kOrderRounding)),
        events_(events_of(work, bound.ranks)),
        lags_(lags_of(work, events_)) {
    for (const Lag& lag : lags_) window_ = std::max(window_, lag.behind + 1);
    for (const RankEvent& event : events_) window_ = std::max(window_, most_[event.stage] + 1);
    window_ = std::min(window_, work.micro_batches);
    for (const int rank : ranks_) {
      const std::vector<int>& stages = work.stages_of_rank[rank];
      double all = 0;
      for (const int s : stages) all += work.micro_batches * weight_time(s);
      weight_of_all_.push_back(all);
      unit_.push_back(stages.size() == 1 ? weight_time(stages[0]) : 0);
    }
  }

  // Whether no way to run everything ends before `end`.
  bool all_end_later() {
    State first{.ranks = std::vector<Rank>(ranks_.size()),
                .ready = std::vector<double>(events_.size() * window_, 0.0)};
    const Cell none(events_.size(), 0);
    settle(none, first);
    std::map<Cell, std::vector<State>> level{{none, {std::move(first)}}};
    const int steps = static_cast<int>(events_.size()) * work_.micro_batches;
    for (int step = 0; step < steps; ++step) {
      if (level.empty()) return true;
      if (std::ssize(level) > kMostCells || runs_ > kMostRuns) return false;
      next_.clear();
      const auto most = static_cast<size_t>(
          std::clamp<int64_t>(kMostInLevel / std::ssize(level), 1, kMostInCell));
      for (auto& [cell, states] : level) {
        merge(states, most);
        for (const State& state : states) go_on(cell, state);
      }
      level.swap(next_);
    }
    return level.empty();  // what is left has run everything, and was not seen to end too late
  }

 private:
  [[nodiscard]] double weight_time(int s) const { return least_backward(work_.stage[s]).weight; }

  // Sets what can begin no earlier than now, or than its head, to that.
  void settle(const Cell& cell, State& state) const {
    for (size_t e = 0; e < events_.size(); ++e) {
      const double clock = state.ranks[events_[e].rank].clock;
      for (int i = 0; i < window_ && cell[e] + i < work_.micro_batches; ++i) {
        double& ready = state.ready[e * window_ + i];
        ready = std::max({ready, clock, head(e, cell[e] + i)});
      }
    }
  }
  [[nodiscard]] double head(size_t e, int j) const {
    const auto [s, rank, backward, time] = events_[e];
    const auto part = backward ? WorkPart::Input : WorkPart::Forward;
    return known_.head[part_index(work_, s, j, part)] - (backward ? work_.stage[s].recompute : 0);
  }
  [[nodiscard]] double tail(size_t e, int j) const {
    const auto part = events_[e].backward ? WorkPart::Input : WorkPart::Forward;
    return known_.tail[part_index(work_, events_[e].stage, j, part)];
  }

  // The time of the weight halves of a rank that could have run.
  [[nodiscard]] double weights_ready(const Cell& cell, int rank) const {
    double time = 0;
    for (size_t e = events_.size() / 2; e < events_.size(); ++e) {
      if (events_[e].rank == rank) time += cell[e] * weight_time(events_[e].stage);
    }
    return time;
  }

  // How many weight halves must have run before the next forward of the event has room; -1: it has
  // none however many do. Where the rank has several stages those halves are taken to hold nothing.
  [[nodiscard]] int weights_needed(const Cell& cell, size_t e) const {
    const auto [s, rank, backward, time] = events_[e];
    const int64_t limit = work_.limit[ranks_[rank]];
    if (limit == kUnlimitedBytes || backward) return 0;
    const size_t count = events_.size();
    int64_t bytes = work_.held[s].until_input;
    for (size_t f = 0; 2 * f < count; ++f) {
      if (events_[f].rank != rank) continue;
      bytes += (cell[f] - cell[count - 1 - f]) * work_.held[events_[f].stage].until_input;
    }
    if (bytes > limit) return -1;
    const int64_t half = work_.held[s].until_weight;
    if (unit_[rank] <= 0 || half == 0) return 0;
    const int64_t beside = (limit - bytes) / half;
    return static_cast<int>(std::max<int64_t>(0, cell[count - 1 - e] - beside));
  }

  // Runs each event that can be next, after as many weight halves as fit before it or one more:
  // what is later than that may as well follow it.
  void go_on(const Cell& cell, const State& state) {
    for (size_t e = 0; e < events_.size(); ++e) {
      if (cell[e] == work_.micro_batches || (e > 0 && cell[e] == cell[e - 1])) continue;
      const int needed = weights_needed(cell, e);
      if (needed < 0) continue;
      const Rank& rank = state.ranks[events_[e].rank];
      const double unit = unit_[events_[e].rank];
      const double gap = state.ready[e * window_] - rank.clock;
      const double pending = weights_ready(cell, events_[e].rank) - rank.weights;
      if (unit <= 0) {
        run(cell, state, e, std::min(gap, pending));
        continue;
      }
      const auto left = static_cast<int>(std::lround(pending / unit));
      const auto ran = static_cast<int>(std::lround(rank.weights / unit));
      const int fit = std::min(left, static_cast<int>(std::floor(gap / unit + kOrderRounding)));
      const int least = std::max(fit, needed - ran);
      if (least > left) continue;
      run(cell, state, e, least * unit);
      if (least == fit && least < left) run(cell, state, e, (least + 1) * unit);
    }
  }

  void run(const Cell& cell, const State& before, size_t e, double weights) {
    ++runs_;
    const int j = cell[e];
    State state = before;
    Rank& rank = state.ranks[events_[e].rank];
    rank.weights += weights;
    rank.clock = std::max(rank.clock + weights, before.ready[e * window_]) + events_[e].time;
    if (rank.clock + tail(e, j) >= end_) return;
    const auto from = state.ready.begin() + static_cast<std::ptrdiff_t>(e) * window_;
    std::rotate(from, from + 1, from + window_);
    *(from + window_ - 1) = 0;
    Cell now = cell;
    ++now[e];
    for (const Lag& lag : lags_) {
      if (lag.from != static_cast<int>(e)) continue;
      const int after = j + lag.behind - now[lag.to];
      if (after < 0 || after >= window_) continue;
      double& ready = state.ready[lag.to * window_ + after];
      ready = std::max(ready, rank.clock + lag.wait);
    }
    settle(now, state);
    if (least_end(now, state) >= end_) return;
    keep(std::move(now), std::move(state));
  }

  // No order that goes on from here ends the step earlier.
  [[nodiscard]] double least_end(const Cell& cell, const State& state) const {
    double end = 0;
    for (size_t r = 0; r < ranks_.size(); ++r) {
      const auto [clock, weights] = state.ranks[r];
      double passes = 0;
      double least_tail = 0;
      for (size_t e = 0; e < events_.size(); ++e) {
        if (events_[e].rank != static_cast<int>(r)) continue;
        passes += (work_.micro_batches - cell[e]) * events_[e].time;
        least_tail = tail(e, work_.micro_batches - 1);  // that of the last event is the least
      }
      if (passes > 0) end = std::max(end, clock + passes + least_tail);
      end = std::max(end, clock + passes + weight_of_all_[r] - weights);
    }
    for (size_t e = 0; e < events_.size(); ++e) {
      for (int i = 0; i < window_ && cell[e] + i < work_.micro_batches; ++i) {
        end = std::max(end, state.ready[e * window_ + i] + events_[e].time + tail(e, cell[e] + i));
      }
    }
    return end;
  }

  static bool is_no_worse(const State& a, const State& b) {
    return std::ranges::equal(a.ready, b.ready, std::less_equal<double>()) &&
           std::ranges::equal(a.ranks, b.ranks, [](const Rank& x, const Rank& y) {
             return x.clock <= y.clock && x.weights >= y.weights - kOrderRounding;
           });
  }

  void keep(Cell cell, State state) {
    std::vector<State>& others = next_[std::move(cell)];
    for (const State& other : others) {
      if (is_no_worse(other, state)) return;
    }
    std::erase_if(others, [&](const State& other) { return is_no_worse(state, other); });
    others.push_back(std::move(state));
  }

  // How much is lost where one state stands for two.
  static double distance(const State& a, const State& b) {
    double sum = 0;
    for (size_t r = 0; r < a.ranks.size(); ++r) {
      sum += std::abs(a.ranks[r].clock - b.ranks[r].clock) +
             std::abs(a.ranks[r].weights - b.ranks[r].weights);
    }
    for (size_t i = 0; i < a.ready.size(); ++i) sum += std::abs(a.ready[i] - b.ready[i]);
    return sum;
  }

  // Makes one of two neighbours that are the closest, until there are few enough.
  static void merge(std::vector<State>& states, size_t most) {
    if (states.size() <= most) return;
    std::ranges::sort(states, {}, [](const State& state) { return state.ready; });
    while (states.size() > most) {
      size_t closest = 0;
      double least = -1;
      for (size_t i = 0; i + 1 < states.size(); ++i) {
        const double apart = distance(states[i], states[i + 1]);
        if (least >= 0 && apart >= least) continue;
        least = apart;
        closest = i;
      }
      State& kept = states[closest];
      const State& other = states[closest + 1];
      for (size_t r = 0; r < kept.ranks.size(); ++r) {
        kept.ranks[r].clock = std::min(kept.ranks[r].clock, other.ranks[r].clock);
        kept.ranks[r].weights = std::max(kept.ranks[r].weights, other.ranks[r].weights);
      }
      for (size_t i = 0; i < kept.ready.size(); ++i) {
        kept.ready[i] = std::min(kept.ready[i], other.ready[i]);
      }
      states.erase(states.begin() + static_cast<std::ptrdiff_t>(closest) + 1);
    }
  }

  const StepWork& work_;
  const HeadsAndTails& known_;
  const std::vector<int>& ranks_;
  const double end_;
  const std::vector<int> most_ = most_in_flight(work_);
  const std::vector<RankEvent> events_;
  const std::vector<Lag> lags_;
  int64_t runs_ = 0;
  int window_ = 1;                     // how far ahead of what has run something is known
  std::vector<double> unit_;           // the time of a weight half; 0: of several stages, divisible
  std::vector<double> weight_of_all_;  // the time of all weight halves
  std::map<Cell, std::vector<State>> next_;
};

// The few ranks that have the least time or memory left, which are the ones that may be in each
// other's way; ascending.
std::vector<int> busiest_ranks(const StepWork& work) {
  constexpr size_t kMost = 4;
  const std::vector<double> trips = round_trips(work);
  std::vector<double> period(work.ranks, 0.0);  // of a micro-batch, at least
  std::vector<int> ranks(work.ranks);
  for (int rank = 0; rank < work.ranks; ++rank) {
    ranks[rank] = rank;
    double held = 0;
    for (const int s : work.stages_of_rank[rank]) {
      const LeastBackward backward = least_backward(work.stage[s]);
      period[rank] +=
          work.stage[s].forward + work.stage[s].recompute + backward.input + backward.weight;
      held += static_cast<double>(work.held[s].until_input) * trips[s] +
              static_cast<double>(work.held[s].until_weight) * backward.weight;
    }
    period[rank] = std::max(period[rank], held / static_cast<double>(work.limit[rank]));
  }
  std::ranges::stable_sort(ranks, std::greater<>(), [&](int rank) { return period[rank]; });
  ranks.resize(std::min(ranks.size(), kMost));
  std::ranges::sort(ranks);
  return ranks;
}

// All sets of at most kMostRanksTogether of the ranks, the smallest first.
std::vector<std::vector<int>> sets_of(const std::vector<int>& ranks) {
  std::vector<std::vector<int>> sets;
  for (unsigned chosen = 1; chosen < (1U << ranks.size()); ++chosen) {
    std::vector<int> set;
    for (size_t i = 0; i < ranks.size(); ++i) {
      if ((chosen >> i & 1U) != 0) set.push_back(ranks[i]);
    }
    if (set.size() <= kMostRanksTogether) sets.push_back(std::move(set));
  }
  std::ranges::stable_sort(sets, {}, [](const std::vector<int>& set) { return set.size(); });
  return sets;
}

}  // namespace

bool no_order_ends_before(const StepWork& work, const HeadsAndTails& known,
                          const OrdersBound& bound) {
  return RankOrders(work, known, bound).all_end_later();
}

std::optional<OrdersBound> orders_bound(const StepWork& work, const HeadsAndTails& known,
                                        double known_bound, double makespan) {
  constexpr double kWorthwhile = 0.002;
  std::optional<OrdersBound> best;
  const auto shows = [&](const std::vector<int>& ranks, double total) {
    return no_order_ends_before(work, known, {ranks, total});
  };
  // Keeps the largest bound of the ranks that is above the best one by what is worth the while.
  const auto improve = [&](const std::vector<int>& ranks) {
    double more = (best ? best->total : known_bound) * (1 + kWorthwhile);
    if (more > makespan || !shows(ranks, more)) return;
    double less = makespan;
    if (shows(ranks, makespan)) more = makespan;
    while (less - more > kWorthwhile * more) {
      const double middle = (more + less) / 2;
      (shows(ranks, middle) ? more : less) = middle;
    }
    best = {ranks, more};
  };
  const std::vector<int> busiest = busiest_ranks(work);
  for (const std::vector<int>& ranks : sets_of(busiest)) improve(ranks);
  return best;
}

}  // namespace penstock
