// A decision diagram of some ranks' orders, relaxed where it is too wide (Bergman et al. 2016).
#include "runtime/planning/schedule/search/bounds/rank_orders.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>

#include "runtime/planning/schedule/search/bounds/bound.h"
#include "runtime/planning/schedule/search/bounds/rank_events.h"

namespace penstock {
namespace {

constexpr double kOrderRounding = 1e-9;
constexpr double kNoEnd = std::numeric_limits<double>::infinity();

// The most states of a cell, and about as many of all cells in which as much has run.
constexpr int64_t kMostInCell = 48;
constexpr int64_t kMostInLevel = 384;
constexpr int64_t kMostCells = 2048;       // of these
constexpr int64_t kMostRuns = 600'000;     // steps from one state to the next, of some ranks ...
constexpr int64_t kMostOfAll = 2'000'000;  // ... and of all sets of ranks after which none begins

// One way, or what is better than several, to have run all that a cell says. Each number is the
// better the less it is: by rank its clock, by rank less the time of the weight halves that it has
// run, and [event][after how many more] when the event of that micro-batch may begin.
using State = std::vector<double>;
using Cell = std::vector<int>;  // by event: of how many micro-batches it has run

// States that lie side by side in a list, and the number in which they differ most.
struct Box {
  size_t begin = 0, end = 0;
  size_t number = 0;
  double least = 0, spread = 0;
};

Box box_of(const std::vector<State>& states, size_t begin, size_t end) {
  Box box{.begin = begin, .end = end};
  for (size_t k = 0; k < states[begin].size(); ++k) {
    double least = states[begin][k];
    double most = least;
    for (size_t i = begin + 1; i < end; ++i) {
      least = std::min(least, states[i][k]);
      most = std::max(most, states[i][k]);
    }
    if (most - least <= box.spread) continue;
    box.number = k;
    box.least = least;
    box.spread = most - least;
  }
  return box;
}

// Makes one of states that differ little, until there are few enough: all are halved, and of the
// parts always the one that differs most.
void merge(std::vector<State>& states, size_t most) {
  if (states.size() <= most) return;
  std::vector<Box> boxes{box_of(states, 0, states.size())};
  while (boxes.size() < most) {
    const auto widest = std::ranges::max_element(boxes, {}, &Box::spread);
    const Box box = *widest;
    if (box.spread <= 0) break;
    const auto at = [&](size_t i) { return states.begin() + static_cast<std::ptrdiff_t>(i); };
    const auto parted = std::stable_partition(at(box.begin), at(box.end), [&](const State& state) {
      return state[box.number] - box.least <= box.spread / 2;
    });
    const auto half = static_cast<size_t>(parted - states.begin());
    *widest = box_of(states, box.begin, half);
    boxes.push_back(box_of(states, half, box.end));
  }
  std::vector<State> merged;
  for (const Box& box : boxes) {
    State& state = merged.emplace_back(std::move(states[box.begin]));
    for (size_t i = box.begin + 1; i < box.end; ++i) {
      for (size_t k = 0; k < state.size(); ++k) state[k] = std::min(state[k], states[i][k]);
    }
  }
  states = std::move(merged);
}

class RankOrders {
 public:
  RankOrders(const StepWork& work, const HeadsAndTails& known, const std::vector<int>& ranks,
             double end)
      : work_(work),
        ranks_(ranks),
        end_(end),
        events_(events_of(work, ranks)),
        lags_(lags_of(work, events_)) {
    constexpr int kFarthest = 12;
    for (const Lag& lag : lags_) window_ = std::max(window_, lag.behind + 1);
    window_ = std::min({window_, work.micro_batches, kFarthest});
    for (const int rank : ranks_) {
      const std::vector<int>& stages = work.stages_of_rank[rank];
      double all = 0;
      for (const int s : stages) all += work.micro_batches * weight_time(s);
      weight_of_all_.push_back(all);
      unit_.push_back(stages.size() == 1 ? weight_time(stages[0]) : 0);
      half_.push_back(least_bytes(stages));
    }
    for (const auto& [s, rank, backward, time] : events_) {
      const auto part = backward ? WorkPart::Input : WorkPart::Forward;
      for (int j = 0; j < work.micro_batches; ++j) {
        const size_t i = part_index(work, s, j, part);
        head_.push_back(known.head[i] - (backward ? work.stage[s].recompute : 0));
        tail_.push_back(known.tail[i]);
      }
    }
  }

  // No order ends earlier than this, or than `end` where that is less; 0: there are too many.
  double least_end() {
    State first(2 * ranks_.size() + events_.size() * window_, 0.0);
    const Cell none(events_.size(), 0);
    for (size_t r = 0; r < ranks_.size(); ++r) settle(none, first, static_cast<int>(r));
    std::map<Cell, std::vector<State>> level{{none, {std::move(first)}}};
    const int steps = static_cast<int>(events_.size()) * work_.micro_batches;
    for (int step = 0; step < steps; ++step) {
      if (level.empty()) return end_;
      if (std::ssize(level) > kMostCells || runs_ > kMostRuns) return 0;
      next_.clear();
      const auto most = static_cast<size_t>(
          std::clamp<int64_t>(kMostInLevel / std::ssize(level), 1, kMostInCell));
      for (auto& [cell, states] : level) {
        merge(states, most);
        for (size_t e = 0; e < events_.size(); ++e) go_on(cell, states, e);
      }
      level.swap(next_);
    }
    double least = end_;
    for (const auto& [cell, states] : level) {
      for (const State& state : states) least = std::min(least, end_from(cell, state));
    }
    return least;
  }
  // The steps from one state to the next that this took.
  [[nodiscard]] int64_t runs() const { return runs_; }

 private:
  [[nodiscard]] double weight_time(int s) const { return least_backward(work_.stage[s]).weight; }
  [[nodiscard]] size_t clock(int rank) const { return rank; }
  [[nodiscard]] size_t weights(int rank) const { return ranks_.size() + rank; }
  [[nodiscard]] size_t ready(size_t e) const { return 2 * ranks_.size() + e * window_; }

  // What a weight half of the stages that has not run holds for each unit of its time at least.
  [[nodiscard]] double least_bytes(const std::vector<int>& stages) const {
    double least = kNoEnd;
    for (const int s : stages) {
      const auto half = static_cast<double>(work_.held[s].until_weight);
      least = std::min(least, weight_time(s) > 0 ? half / weight_time(s) : kNoEnd);
    }
    return least == kNoEnd ? 0 : least;
  }

  // Sets what can begin no earlier than its rank is free, or than its head, to that.
  void settle(const Cell& cell, State& state, int rank) const {
    for (size_t e = 0; e < events_.size(); ++e) {
      if (events_[e].rank != rank) continue;
      const double* head = &head_[e * work_.micro_batches + cell[e]];
      const int count = std::min(window_, work_.micro_batches - cell[e]);
      for (int i = 0; i < count; ++i) {
        double& at = state[ready(e) + i];
        at = std::max({at, state[clock(rank)], head[i]});
      }
    }
  }

  // The time of the weight halves of a rank that could have run.
  [[nodiscard]] double weights_ready(const Cell& cell, int rank) const {
    double time = 0;
    for (size_t e = events_.size() / 2; e < events_.size(); ++e) {
      if (events_[e].rank == rank) time += cell[e] * weight_time(events_[e].stage);
    }
    return time;
  }

  // The bytes that are left for weight halves which have not run when the next one of the event
  // begins; below 0: it has no room.
  [[nodiscard]] int64_t bytes_left(const Cell& cell, size_t e) const {
    const int rank = events_[e].rank;
    const int64_t limit = work_.limit[ranks_[rank]];
    if (limit == kUnlimitedBytes || events_[e].backward) return kUnlimitedBytes;
    const size_t count = events_.size();
    int64_t bytes = work_.held[events_[e].stage].until_input;
    for (size_t f = 0; 2 * f < count; ++f) {
      if (events_[f].rank != rank) continue;
      bytes += (cell[f] - cell[count - 1 - f]) * work_.held[events_[f].stage].until_input;
    }
    return limit - bytes;
  }

  // Whether an event that must come before the next one of `e` has not run.
  [[nodiscard]] bool is_blocked(const Cell& cell, size_t e) const {
    return cell[e] == work_.micro_batches || std::ranges::any_of(lags_, [&](const Lag& lag) {
             return lag.to == static_cast<int>(e) && cell[lag.from] <= cell[e] - lag.behind;
           });
  }

  // Runs the event next, after as many weight halves as fit before it, or must make room for it, or
  // one more: what is later than that may as well follow it.
  void go_on(const Cell& cell, const std::vector<State>& states, size_t e) {
    if (is_blocked(cell, e)) return;
    const int64_t left_over = bytes_left(cell, e);
    if (left_over < 0) return;
    const int rank = events_[e].rank;
    const double unit = unit_[rank];
    const double all = weights_ready(cell, rank);
    const double beside = left_over == kUnlimitedBytes || half_[rank] <= 0
                              ? kNoEnd
                              : static_cast<double>(left_over) / half_[rank];
    for (const State& state : states) {
      const double gap = state[ready(e)] - state[clock(rank)];
      const double pending = all + state[weights(rank)];
      const double needed = std::max(0.0, pending - beside);
      if (unit <= 0) {
        run(cell, state, e, std::max(needed, std::min(gap, pending)));
        continue;
      }
      const auto left = static_cast<int>(std::lround(pending / unit));
      const int fit = std::min(left, static_cast<int>(std::floor(gap / unit + kOrderRounding)));
      const int least = std::max(fit, static_cast<int>(std::ceil(needed / unit - kOrderRounding)));
      run(cell, state, e, least * unit);
      if (least == fit && least < left) run(cell, state, e, (least + 1) * unit);
    }
  }

  void run(const Cell& cell, const State& before, size_t e, double halves) {
    ++runs_;
    const int j = cell[e];
    const int rank = events_[e].rank;
    state_ = before;
    state_[weights(rank)] -= halves;
    double& now = state_[clock(rank)];
    now = std::max(now + halves, before[ready(e)]) + events_[e].time;
    if (now + tail_[e * work_.micro_batches + j] >= end_) return;
    const auto from = state_.begin() + static_cast<std::ptrdiff_t>(ready(e));
    std::rotate(from, from + 1, from + window_);
    *(from + window_ - 1) = 0;
    cell_ = cell;
    ++cell_[e];
    for (const Lag& lag : lags_) {
      if (lag.from != static_cast<int>(e)) continue;
      const int after = j + lag.behind - cell_[lag.to];
      if (after < 0 || after >= window_) continue;
      double& at = state_[ready(lag.to) + after];
      at = std::max(at, now + lag.wait);
    }
    settle(cell_, state_, rank);
    if (end_from(cell_, state_) >= end_) return;
    keep();
  }

  // No order that goes on from here ends the step earlier.
  [[nodiscard]] double end_from(const Cell& cell, const State& state) const {
    const int all = work_.micro_batches;
    double end = 0;
    for (size_t e = 0; e < events_.size(); ++e) {
      const double* tail = &tail_[e * all + cell[e]];
      const int count = std::min(window_, all - cell[e]);
      for (int i = 0; i < count; ++i) {
        end = std::max(end, state[ready(e) + i] + events_[e].time + tail[i]);
      }
    }
    for (int r = 0; r < static_cast<int>(ranks_.size()); ++r) {
      double passes = 0;
      double least_tail = 0;
      for (size_t e = 0; e < events_.size(); ++e) {
        if (events_[e].rank != r) continue;
        passes += (all - cell[e]) * events_[e].time;
        least_tail = tail_[e * all + all - 1];  // that of the last event is the least
      }
      end = std::max(end, state[clock(r)] + passes + least_tail);
      end = std::max(end, state[clock(r)] + passes + weight_of_all_[r] + state[weights(r)]);
    }
    return end;
  }

  [[nodiscard]] bool is_no_worse(const State& a, const State& b) const {
    const size_t clocks = ranks_.size();
    for (size_t i = 0; i < a.size(); ++i) {
      const bool is_weights = i >= clocks && i < 2 * clocks;  // sums of equal terms
      if (a[i] > b[i] + (is_weights ? kOrderRounding : 0)) return false;
    }
    return true;
  }

  // Keeps the state that has been reached, unless another is better.
  void keep() {
    std::vector<State>& others = next_[cell_];
    for (const State& other : others) {
      if (is_no_worse(other, state_)) return;
    }
    std::erase_if(others, [&](const State& other) { return is_no_worse(state_, other); });
    others.push_back(state_);
  }

  const StepWork& work_;
  const std::vector<int>& ranks_;
  const double end_;
  const std::vector<RankEvent> events_;
  const std::vector<Lag> lags_;
  int64_t runs_ = 0;
  int window_ = 1;                     // how far ahead of what has run something is known
  std::vector<double> head_, tail_;    // [event][micro-batch]
  std::vector<double> unit_;           // the time of a weight half; 0: of several stages, divisible
  std::vector<double> weight_of_all_;  // the time of all weight halves
  std::vector<double> half_;           // what they hold for each unit of their time at least
  std::map<Cell, std::vector<State>> next_;
  Cell cell_;  // that is reached
  State state_;
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

// All sets of two and three of the ranks, the smallest first.
std::vector<std::vector<int>> sets_of(const std::vector<int>& ranks) {
  std::vector<std::vector<int>> sets;
  for (unsigned chosen = 1; chosen < (1U << ranks.size()); ++chosen) {
    std::vector<int> set;
    for (size_t i = 0; i < ranks.size(); ++i) {
      if ((chosen >> i & 1U) != 0) set.push_back(ranks[i]);
    }
    if (set.size() == 2 || set.size() == 3) sets.push_back(std::move(set));
  }
  std::ranges::stable_sort(sets, {}, [](const std::vector<int>& set) { return set.size(); });
  return sets;
}

// The ranks with one more, ascending.
std::vector<int> with(std::vector<int> ranks, int rank) {
  ranks.insert(std::ranges::upper_bound(ranks, rank), rank);
  return ranks;
}

}  // namespace

bool no_order_ends_before(const StepWork& work, const HeadsAndTails& known,
                          const OrdersBound& bound) {
  const double end = bound.total * (1 - kOrderRounding);
  return RankOrders(work, known, bound.ranks, end).least_end() >= end;
}

std::optional<OrdersBound> orders_bound(const StepWork& work, const HeadsAndTails& known,
                                        double known_bound, double makespan) {
  constexpr double kWorthwhile = 0.001;
  constexpr int kTries = 6;
  std::optional<OrdersBound> best;
  int64_t runs = 0;
  const auto least_end = [&](const std::vector<int>& ranks, double total) {
    RankOrders orders(work, known, ranks, total * (1 - kOrderRounding));
    const double found = orders.least_end();
    runs += orders.runs();
    return found >= total * (1 - kOrderRounding) ? total : found;
  };
  // Keeps what the ranks say if it is more than the best so far by what is worth the while.
  const auto improve = [&](const std::vector<int>& ranks) {
    double more = (best ? best->total : known_bound) * (1 + kWorthwhile);
    if (runs > kMostOfAll || more > makespan || least_end(ranks, more) < more) return;
    double less = makespan;
    double total = makespan;
    for (int i = 0; i < kTries && less - more > kWorthwhile * more; ++i) {
      const double found = least_end(ranks, total);
      (found >= total ? more : less) = total;
      // What does not come out for one end of the step says which earlier one may.
      total = found > more && found < less ? found : (more + less) / 2;
    }
    best = {ranks, more};
  };
  for (int rank = 0; rank < work.ranks; ++rank) improve({rank});
  for (const std::vector<int>& ranks : sets_of(busiest_ranks(work))) improve(ranks);
  // The ranks that say most, and one more, as long as that says more.
  for (std::vector<int> ranks; best && best->ranks != ranks;) {
    ranks = best->ranks;
    if (ranks.size() == kMostRanksTogether) break;
    for (int rank = 0; rank < work.ranks; ++rank) {
      if (std::ranges::count(ranks, rank) == 0) improve(with(ranks, rank));
    }
  }
  return best;
}

}  // namespace penstock
