// Longest paths to and from every part, and the work of its rank before and after it.
#include "runtime/planning/schedule/search/bounds/heads_and_tails.h"

#include <algorithm>

namespace penstock {
namespace {

using enum WorkPart;

// The time of each part of a stage.
struct Times {
  double forward, recompute, input, weight;
};

// The parts of one kind of a stage, of the first `count` micro-batches or of the last `count`.
struct Parts {
  int stage;
  WorkPart part;
  int count;
};

class LeastWalk {
 public:
  explicit LeastWalk(const StepWork& work)
      : work_(work), most_(most_in_flight(work)), beside_(halves_beside(work, most_)) {
    for (const StageWork& stage : work.stage) {
      times_.push_back({part_time(stage, Forward), part_time(stage, Recompute),
                        part_time(stage, Input), part_time(stage, Weight)});
    }
    const size_t parts = static_cast<size_t>(work.stages) * work.micro_batches * kParts;
    known_.head.assign(parts, 0.0);
    known_.tail.assign(parts, 0.0);
  }

  HeadsAndTails walk() {
    for (int j = 0; j < work_.micro_batches; ++j) heads_of(j);
    for (int j = work_.micro_batches - 1; j >= 0; --j) tails_of(j);
    return std::move(known_);
  }

 private:
  [[nodiscard]] double& head(int s, int j, WorkPart part) {
    return known_.head[part_index(work_, s, j, part)];
  }
  [[nodiscard]] double& tail(int s, int j, WorkPart part) {
    return known_.tail[part_index(work_, s, j, part)];
  }
  [[nodiscard]] const std::vector<int>& neighbours(int stage) const {
    return work_.stages_of_rank[work_.rank_of_stage[stage]];
  }
  [[nodiscard]] double hop(int boundary) const {
    return work_.hop[boundary].on_link + work_.hop[boundary].latency;
  }
  // How many of the micro-batches 0 .. j, and how many of those from j on.
  [[nodiscard]] static int until(int j) { return std::max(0, j + 1); }
  [[nodiscard]] int from(int j) const { return std::max(0, work_.micro_batches - j); }

  void heads_of(int j) {
    for (int s = 0; s < work_.stages; ++s) {
      double& forward = head(s, j, Forward);
      if (s > 0) forward = head(s - 1, j, Forward) + times_[s - 1].forward + hop(s - 1);
      if (j > 0) forward = std::max(forward, head(s, j - 1, Forward) + times_[s].forward);
      if (const int oldest = j - most_[s]; oldest >= 0) {
        forward = std::max({forward, head(s, oldest, Input) + times_[s].input, room(s, oldest)});
      }
      forward = std::max(forward, one_after_another(before_forward(s, j), false));
    }
    for (int s = work_.stages - 1; s >= 0; --s) {
      double& recompute = head(s, j, Recompute);
      double& input = head(s, j, Input);
      recompute = head(s, j, Forward) + times_[s].forward;
      if (j > 0) recompute = std::max(recompute, head(s, j - 1, Input) + times_[s].input);
      recompute = std::max(recompute, one_after_another(before_input(s, j, j - 1), false));
      input = recompute + times_[s].recompute;
      if (s + 1 < work_.stages) {
        input = std::max(input, head(s + 1, j, Input) + times_[s + 1].input + hop(s));
      }
      input = std::max(input, one_after_another(before_input(s, j, j), false));
      double& weight = head(s, j, Weight);
      weight = input + times_[s].input;
      if (j > 0) weight = std::max(weight, head(s, j - 1, Weight) + times_[s].weight);
      std::vector<Parts> before = before_input(s, j, j);
      before.push_back({s, Weight, until(j - 1)});
      weight = std::max(weight, one_after_another(before, false) + times_[s].input);
    }
  }

  // The earliest moment at which a stage that holds all it may has room for another micro-batch
  // behind `oldest`: either the weight halves until then have run but for those that fit beside, or
  // the next input half has.
  [[nodiscard]] double room(int s, int oldest) {
    const int weight = oldest - beside_[s];
    if (weight < 0) return 0;
    const double by_weight = head(s, weight, Weight) + times_[s].weight;
    if (most_[s] == 1) return by_weight;
    return std::min(by_weight, head(s, oldest + 1, Input) + times_[s].input);
  }

  // The parts of a rank that come before a forward in every schedule.
  [[nodiscard]] std::vector<Parts> before_forward(int stage, int j) const {
    std::vector<Parts> parts;
    for (const int t : neighbours(stage)) {
      // What is done of the stages before it: each micro-batch that is no longer in flight there.
      const int done = j - most_[std::min(t, stage)];
      const int forwards = t < stage ? until(j) : t == stage ? until(j - 1) : until(done);
      parts.push_back({t, Forward, forwards});
      parts.push_back({t, Recompute, until(done)});
      parts.push_back({t, Input, until(done)});
    }
    return parts;
  }

  // The same for an input half, or for its recompute. `recomputed`: the last micro-batch of the
  // stage that is recomputed before.
  [[nodiscard]] std::vector<Parts> before_input(int stage, int j, int recomputed) const {
    std::vector<Parts> parts;
    for (const int t : neighbours(stage)) {
      const int inputs = t > stage ? j : t == stage ? j - 1 : j - most_[t];
      parts.push_back({t, Forward, until(j)});
      parts.push_back({t, Recompute, until(t == stage ? recomputed : inputs)});
      parts.push_back({t, Input, until(inputs)});
    }
    return parts;
  }

  // The end of parts that their rank runs one after another, none of them before its head; or, seen
  // from the end of the step, the time from the beginning of the first, none of which ends later
  // than its tail allows. Both grow along each list, so the earliest of all is always next.
  [[nodiscard]] double one_after_another(const std::vector<Parts>& lists, bool from_end) {
    next_.assign(lists.size(), 0);
    double end = 0;
    while (true) {
      size_t earliest = lists.size();
      double begin = 0;
      for (size_t l = 0; l < lists.size(); ++l) {
        if (next_[l] == lists[l].count) continue;
        const auto [stage, part, count] = lists[l];
        const double own = from_end ? tail(stage, work_.micro_batches - 1 - next_[l], part)
                                    : head(stage, next_[l], part);
        if (earliest < lists.size() && own >= begin) continue;
        earliest = l;
        begin = own;
      }
      if (earliest == lists.size()) return end;
      ++next_[earliest];
      end = std::max(end, begin) +
            part_time(work_.stage[lists[earliest].stage], lists[earliest].part);
    }
  }

  void tails_of(int j) {
    for (int s = 0; s < work_.stages; ++s) {
      tail(s, j, Weight) = from(j + 1) * times_[s].weight;
      double& input = tail(s, j, Input);
      input = times_[s].weight + tail(s, j, Weight);
      if (s > 0) input = std::max(input, hop(s - 1) + times_[s - 1].input + tail(s - 1, j, Input));
      if (j + 1 < work_.micro_batches) {
        input = std::max(input, times_[s].recompute + tail(s, j + 1, Recompute));
      }
      if (const int next = j + most_[s]; next < work_.micro_batches) {
        // As in room(), where no weight half fits beside.
        const double first = beside_[s] > 0  ? 0
                             : most_[s] == 1 ? times_[s].weight
                                             : std::min(times_[s].weight, times_[s].input);
        input = std::max(input, first + times_[s].forward + tail(s, next, Forward));
      }
      input = std::max(input, one_after_another(after_input(s, j), true));
      tail(s, j, Recompute) = times_[s].input + input;
    }
    for (int s = work_.stages - 1; s >= 0; --s) {
      double& forward = tail(s, j, Forward);
      forward = times_[s].recompute + tail(s, j, Recompute);
      if (s + 1 < work_.stages) {
        forward = std::max(forward, hop(s) + times_[s + 1].forward + tail(s + 1, j, Forward));
      }
      if (j + 1 < work_.micro_batches) {
        forward = std::max(forward, times_[s].forward + tail(s, j + 1, Forward));
      }
      forward = std::max(forward, one_after_another(after_forward(s, j), true));
    }
  }

  // The parts of a rank that come after an input half in every schedule, its weight halves too.
  [[nodiscard]] std::vector<Parts> after_input(int stage, int j) const {
    std::vector<Parts> parts;
    for (const int t : neighbours(stage)) {
      const int next = j + most_[std::min(t, stage)];
      const int inputs = t < stage ? j : t == stage ? j + 1 : next;
      parts.push_back({t, Forward, from(next)});
      parts.push_back({t, Recompute, from(t > stage ? next : j + 1)});
      parts.push_back({t, Input, from(inputs)});
      parts.push_back({t, Weight, from(t <= stage ? j : next)});
    }
    return parts;
  }

  // The same for a forward.
  [[nodiscard]] std::vector<Parts> after_forward(int stage, int j) const {
    std::vector<Parts> parts;
    for (const int t : neighbours(stage)) {
      const int forwards = t > stage ? j : t == stage ? j + 1 : j + most_[t];
      parts.push_back({t, Forward, from(forwards)});
      parts.push_back({t, Recompute, from(t >= stage ? j : j + 1)});
      parts.push_back({t, Input, from(j)});
      parts.push_back({t, Weight, from(j)});
    }
    return parts;
  }

  const StepWork& work_;
  std::vector<int> most_;
  std::vector<int> beside_;
  std::vector<Times> times_;
  std::vector<int> next_;  // of one_after_another()
  HeadsAndTails known_;
};

}  // namespace

double part_time(const StageWork& work, WorkPart part) {
  switch (part) {
    case Forward:
      return work.forward;
    case Recompute:
      return work.recompute;
    case Input:
      return least_backward(work).input;
    default:
      return least_backward(work).weight;
  }
}

std::vector<int> most_in_flight(const StepWork& work) {
  std::vector<int> most(work.stages, work.micro_batches);
  for (int rank = 0; rank < work.ranks; ++rank) {
    // A micro-batch that is in flight in a stage is in flight in all earlier ones of the rank.
    int64_t bytes = 0;
    for (const int stage : work.stages_of_rank[rank]) {
      bytes += work.held[stage].until_input;
      while (most[stage] > 1 && most[stage] * bytes > work.limit[rank]) --most[stage];
    }
  }
  return most;
}

std::vector<int> halves_beside(const StepWork& work, const std::vector<int>& most) {
  std::vector<int> beside(work.stages, work.micro_batches);
  for (int rank = 0; rank < work.ranks; ++rank) {
    int64_t bytes = 0;
    for (const int stage : work.stages_of_rank[rank]) {
      bytes += work.held[stage].until_input;
      const int64_t half = work.held[stage].until_weight;
      if (half == 0 || work.limit[rank] == kUnlimitedBytes) continue;
      const int64_t room = (work.limit[rank] - most[stage] * bytes) / half;
      beside[stage] = static_cast<int>(std::clamp<int64_t>(room, 0, work.micro_batches));
    }
  }
  return beside;
}

HeadsAndTails heads_and_tails(const StepWork& work) {
  return LeastWalk(work).walk();
}

}  // namespace penstock
