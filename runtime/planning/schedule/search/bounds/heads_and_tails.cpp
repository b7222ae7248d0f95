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

// Returns by stage how many micro-batches fit between their input and weight half beside `most` of
// them in flight; at most all.
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

class Walk {
 public:
  explicit Walk(const StepWork& work)
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
  [[nodiscard]] static double until(int j) { return std::max(0, j + 1); }
  [[nodiscard]] double from(int j) const { return std::max(0, work_.micro_batches - j); }

  void heads_of(int j) {
    for (int s = 0; s < work_.stages; ++s) {
      double& forward = head(s, j, Forward);
      if (s > 0) forward = head(s - 1, j, Forward) + times_[s - 1].forward + hop(s - 1);
      if (j > 0) forward = std::max(forward, head(s, j - 1, Forward) + times_[s].forward);
      if (const int oldest = j - most_[s]; oldest >= 0) {
        forward = std::max({forward, head(s, oldest, Input) + times_[s].input, room(s, oldest)});
      }
      forward = std::max(forward, begins(s) + work_before_forward(s, j));
    }
    for (int s = work_.stages - 1; s >= 0; --s) {
      double& recompute = head(s, j, Recompute);
      double& input = head(s, j, Input);
      recompute = head(s, j, Forward) + times_[s].forward;
      if (j > 0) recompute = std::max(recompute, head(s, j - 1, Input) + times_[s].input);
      input = recompute + times_[s].recompute;
      if (s + 1 < work_.stages) {
        input = std::max(input, head(s + 1, j, Input) + times_[s + 1].input + hop(s));
      }
      input = std::max(input, begins(s) + work_before_input(s, j));
      double& weight = head(s, j, Weight);
      weight = input + times_[s].input;
      if (j > 0) weight = std::max(weight, head(s, j - 1, Weight) + times_[s].weight);
      weight = std::max(weight, begins(s) + work_before_input(s, j) + times_[s].input +
                                    until(j - 1) * times_[s].weight);
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

  // The earliest beginning of anything on the rank of a stage.
  [[nodiscard]] double begins(int stage) { return head(neighbours(stage).front(), 0, Forward); }

  // The work of the rank that comes before a forward in every schedule.
  [[nodiscard]] double work_before_forward(int stage, int j) const {
    double sum = 0;
    for (const int t : neighbours(stage)) {
      // Of the stages before it, each micro-batch that is no longer in flight there.
      const int done = j - most_[std::min(t, stage)];
      const double forwards = t < stage ? until(j) : t == stage ? until(j - 1) : until(done);
      sum += forwards * times_[t].forward;
      sum += until(done) * (times_[t].recompute + times_[t].input);
    }
    return sum;
  }

  // The same for an input half.
  [[nodiscard]] double work_before_input(int stage, int j) const {
    double sum = 0;
    for (const int t : neighbours(stage)) {
      const int inputs = t > stage ? j : t == stage ? j - 1 : j - most_[t];
      const int recomputes = t == stage ? j : inputs;
      sum += until(j) * times_[t].forward + until(inputs) * times_[t].input +
             until(recomputes) * times_[t].recompute;
    }
    return sum;
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
      raise(input, s, after_input(s, j));
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
      raise(forward, s, after_forward(s, j));
    }
  }

  // The work of a rank that comes after a part in every schedule: weight halves, which may be the
  // last of the step, and all else, after which gradients still have a way to go.
  struct After {
    double weights = 0, others = 0;
  };

  void raise(double& tail_of_part, int stage, const After& after) {
    tail_of_part = std::max(tail_of_part, after.weights + after.others);
    if (after.others == 0) return;
    const double way = tail(neighbours(stage).front(), work_.micro_batches - 1, Input);
    tail_of_part = std::max(tail_of_part, after.others + way);
  }

  // Adds what comes after in stage t: forwards, input halves (with their weight halves) and
  // recomputes from these micro-batches on.
  void add(After& after, int t, int forwards, int inputs, int recomputes) const {
    after.others += from(forwards) * times_[t].forward + from(inputs) * times_[t].input +
                    from(recomputes) * times_[t].recompute;
  }

  [[nodiscard]] After after_input(int stage, int j) const {
    After after;
    for (const int t : neighbours(stage)) {
      const int next = j + most_[std::min(t, stage)];
      const int inputs = t < stage ? j : t == stage ? j + 1 : next;
      add(after, t, next, inputs, t > stage ? next : j + 1);
      after.weights += from(t <= stage ? j : next) * times_[t].weight;
    }
    return after;
  }

  [[nodiscard]] After after_forward(int stage, int j) const {
    After after;
    for (const int t : neighbours(stage)) {
      const int forwards = t > stage ? j : t == stage ? j + 1 : j + most_[t];
      add(after, t, forwards, j, t >= stage ? j : j + 1);
      after.weights += from(j) * times_[t].weight;
    }
    return after;
  }

  const StepWork& work_;
  std::vector<int> most_;
  std::vector<int> beside_;
  std::vector<Times> times_;
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

HeadsAndTails heads_and_tails(const StepWork& work) {
  return Walk(work).walk();
}

}  // namespace penstock
