// Modulo scheduling with waits from dice.
#include "runtime/planning/schedule/search/kernel.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace penstock {
namespace {

constexpr double kPeriodRounding = 1e-9;

// The time of one rank within a period, which begins anew when it ends.
class RankPeriod {
 public:
  explicit RankPeriod(double period) : period_(period) {}
  void clear() { taken_.clear(); }
  void take(double begin, double time) {
    if (time > 0) taken_.push_back({begin, time});
  }
  void give_back(double time) {
    if (time > 0) taken_.pop_back();
  }

  // The moments at which something may begin that is `ready` then: at once, or right after or right
  // before what is there. They ascend.
  [[nodiscard]] std::vector<double> moments(double ready, double time) const {
    std::vector<double> moments{ready};
    for (const auto& [begin, taken] : taken_) {
      moments.push_back(ready + after(ready, begin + taken));
      moments.push_back(ready + after(ready, begin - time));
    }
    std::sort(moments.begin(), moments.end());
    return moments;
  }

  [[nodiscard]] bool is_free(double begin, double time) const {
    const double rounding = kPeriodRounding * period_;
    if (time > period_ + rounding) return false;
    return std::all_of(taken_.begin(), taken_.end(), [&](const Taken& other) {
      const double since = after(other.begin, begin);
      return time <= 0 || (since >= other.time - rounding && since + time <= period_ + rounding);
    });
  }

 private:
  struct Taken {
    double begin, time;
  };
  // The time from one moment to the next one that is a number of periods away from `to`.
  [[nodiscard]] double after(double from, double to) const {
    const double time = to - from - period_ * std::floor((to - from) / period_);
    return period_ - time <= kPeriodRounding * period_ ? 0 : time;
  }

  double period_;
  std::vector<Taken> taken_;
};

class KernelSearch {
 public:
  KernelSearch(const StepWork& work, const Period& period, Dice& dice)
      : work_(work),
        period_(period),
        dice_(dice),
        stage_(work.stages),
        turn_(work.ranks, RankPeriod(period.length)),
        waits_(2 * static_cast<size_t>(work.stages), 0.0) {}

  // Draws waits until nothing is wrong. A change is kept by late acceptance, as in improve.h.
  Programs find() {
    double now = place();
    std::array<double, kHistory> history{};
    history.fill(now);
    for (int i = 0; i < period_.tries && now > 0; ++i) {
      double& wait = waits_[dice_.roll(static_cast<int>(waits_.size()))];
      const double before = wait;
      wait = draw();
      const double then = place();
      double& earlier = history[i % kHistory];
      if (then <= now || then <= earlier) {
        now = then;
      } else {
        wait = before;
      }
      earlier = now;
    }
    if (now > 0) return {};
    (void)place();
    return unrolled();
  }

 private:
  // When the first micro-batch does what in a stage. A whole backward has no weight half.
  struct Stage {
    double forward = 0, forward_end = 0;
    double input = 0, input_end = 0;  // from its recompute on
    double weight = 0, weight_end = 0;
  };

  static constexpr size_t kHistory = 64;

  // None half of the time, else up to a period.
  double draw() {
    constexpr int kWaits = 32;
    return dice_.roll(2) == 0 ? 0 : period_.length * dice_.roll(kWaits) / kWaits;
  }

  [[nodiscard]] bool is_whole(int stage) const {
    return !period_.whole.empty() && period_.whole[stage];
  }
  [[nodiscard]] double hop(int boundary) const {
    return work_.hop[boundary].local ? 0
                                     : work_.hop[boundary].on_link + work_.hop[boundary].latency;
  }

  // Places all parts with the waits as they are. Returns how much is wrong: parts without a place,
  // and bytes above limits; 0: nothing is.
  double place() {
    for (RankPeriod& turn : turn_) turn.clear();
    double wrong = 0;
    double there = 0;
    for (int s = 0; s < work_.stages; ++s) {
      const double time = work_.stage[s].forward;
      RankPeriod& turn = turn_[work_.rank_of_stage[s]];
      const double ready = there + waits_[s];
      const auto moments = turn.moments(ready, time);
      const auto moment = std::find_if(moments.begin(), moments.end(),
                                       [&](double at) { return turn.is_free(at, time); });
      if (moment == moments.end()) ++wrong;
      stage_[s].forward = moment == moments.end() ? ready : *moment;
      stage_[s].forward_end = stage_[s].forward + time;
      turn.take(stage_[s].forward, time);
      if (s + 1 < work_.stages) there = stage_[s].forward_end + hop(s);
    }
    for (int s = work_.stages - 1; s >= 0; --s) {
      const double gradient = s + 1 < work_.stages ? stage_[s + 1].input_end + hop(s) : 0;
      const double ready = std::max(stage_[s].forward_end, gradient - work_.stage[s].recompute);
      if (!place_backward(s, ready + waits_[work_.stages + s])) ++wrong;
    }
    for (int rank = 0; rank < work_.ranks; ++rank) wrong += excess(rank);
    return wrong;
  }

  // Places an input half where there is room for its weight half, too. Returns whether there is.
  bool place_backward(int s, double ready) {
    RankPeriod& turn = turn_[work_.rank_of_stage[s]];
    const StageWork& work = work_.stage[s];
    const double time = work.recompute + (is_whole(s) ? work.whole : work.input);
    const double weight_time = is_whole(s) ? 0 : work.weight;
    Stage& stage = stage_[s];
    for (const double at : turn.moments(ready, time)) {
      stage.input = at;
      stage.input_end = at + time;
      if (!turn.is_free(at, time)) continue;
      turn.take(at, time);
      for (const double weight : turn.moments(stage.input_end, weight_time)) {
        if (!turn.is_free(weight, weight_time)) continue;
        turn.take(weight, weight_time);
        stage.weight = weight;
        stage.weight_end = weight + weight_time;
        return true;
      }
      turn.give_back(time);
    }
    stage.weight = stage.input_end;
    stage.weight_end = stage.input_end + weight_time;
    return false;
  }

  // How many micro-batches are in [begin, end) of the first one, or a number of periods later, at
  // some moment.
  [[nodiscard]] int64_t count(double begin, double end, double moment) const {
    const auto periods = [&](double since) {
      return static_cast<int64_t>(std::floor((moment - since) / period_.length + kPeriodRounding));
    };
    return std::min<int64_t>(periods(begin) - periods(end), work_.micro_batches);
  }

  // How far a rank is above its limit, as a share of it, and a little for what it holds over time,
  // so that shorter ways are told apart; 0 where it is not.
  [[nodiscard]] double excess(int rank) const {
    const int64_t limit = work_.limit[rank];
    if (limit == kUnlimitedBytes) return 0;
    int64_t most = 0;
    double over_time = 0;
    for (const int s : work_.stages_of_rank[rank]) {
      int64_t bytes = 0;
      for (const int t : work_.stages_of_rank[rank]) {
        const Stage& other = stage_[t];
        const auto [until_input, until_weight] = work_.held[t];
        bytes += until_input * count(other.forward, other.input_end, stage_[s].forward) +
                 until_weight * count(other.input_end, other.weight_end, stage_[s].forward);
      }
      most = std::max(most, bytes);
      over_time += static_cast<double>(work_.held[s].until_input) *
                   (stage_[s].input_end - stage_[s].forward);
    }
    if (most <= limit) return 0;
    constexpr double kLittle = 0.01;
    return (static_cast<double>(most - limit) + kLittle * over_time / period_.length) /
           static_cast<double>(limit);
  }

  [[nodiscard]] Programs unrolled() const {
    struct Begin {
      double at;
      Instruction instruction;
    };
    std::vector<std::vector<Begin>> begins(work_.ranks);
    for (int j = 0; j < work_.micro_batches; ++j) {
      const double later = j * period_.length;
      const auto add = [&](double at, Op op, int s) {
        begins[work_.rank_of_stage[s]].push_back({at + later, {op, s, j}});
      };
      for (int s = 0; s < work_.stages; ++s) add(stage_[s].forward, Op::Forward, s);
      for (int s = work_.stages - 1; s >= 0; --s) {
        add(stage_[s].input, is_whole(s) ? Op::Backward : Op::BackwardInput, s);
        if (!is_whole(s)) add(stage_[s].weight, Op::BackwardWeight, s);
      }
    }
    Programs programs(work_.ranks);
    for (int rank = 0; rank < work_.ranks; ++rank) {
      std::stable_sort(begins[rank].begin(), begins[rank].end(),
                       [](const Begin& a, const Begin& b) { return a.at < b.at; });
      for (const Begin& begin : begins[rank]) programs[rank].push_back(begin.instruction);
    }
    return programs;
  }

  const StepWork& work_;
  const Period& period_;
  Dice& dice_;
  std::vector<Stage> stage_;
  std::vector<RankPeriod> turn_;  // by rank
  std::vector<double> waits_;     // by stage: before its forward, and then before its input half
};

}  // namespace

Programs periodic_programs(const StepWork& work, const Period& period, Dice& dice) {
  if (!(period.length > 0)) return {};
  return KernelSearch(work, period, dice).find();
}

}  // namespace penstock
