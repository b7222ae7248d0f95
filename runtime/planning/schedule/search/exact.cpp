// Branch and bound over what has run, with dominance.
#include "runtime/planning/schedule/search/exact.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace penstock {
namespace {

// How many forwards, input halves and weight halves of a stage have run.
struct Done {
  int forwards = 0, inputs = 0, weights = 0;
  bool operator<(const Done& other) const {
    return std::tie(forwards, inputs, weights) <
           std::tie(other.forwards, other.inputs, other.weights);
  }
};
using Stages = std::vector<Done>;

// One way to have run all that `Stages` says.
struct Way {
  // When ranks are free; when the links between stages are, forwards and then backwards; and by
  // event (Exact::event()) when the result of what has run is where it is needed.
  std::vector<double> times;
  int before = -1;               // the way that it went on from, as an index of Exact::ways_
  Instruction instruction = {};  // and with what
};

constexpr size_t kMostWays = 200'000;  // each takes some hundred bytes

class Exact {
 public:
  Exact(const StepWork& work, const HeadsAndTails& known, double best)
      : work_(work), known_(known), best_(best) {}

  std::optional<Programs> run() {
    ways_.push_back({.times = std::vector<double>(first_event() + 2 * cells(), 0.0)});
    level_[0][Stages(work_.stages)].push_back(0);
    const int last = work_.stages * work_.micro_batches * 3;
    for (int ran = 0; ran < last; ++ran) {
      for (const auto& [stages, ways] : level_[ran]) {
        for (const int way : ways) go_on(ran, stages, way);
        if (ways_.size() > kMostWays) return std::nullopt;
      }
      level_.erase(ran);
    }
    int best = -1;
    for (const auto& [stages, ways] : level_[last]) {
      for (const int way : ways) {
        const double end = end_of(ways_[way]);
        if (end < best_) best = way, best_ = end;
      }
    }
    return programs_of(best);
  }

 private:
  [[nodiscard]] size_t cells() const {
    return static_cast<size_t>(work_.stages) * work_.micro_batches;
  }
  [[nodiscard]] size_t first_event() const { return work_.ranks + 2 * work_.hop.size(); }
  [[nodiscard]] size_t link(int boundary, bool backward) const {
    return work_.ranks + boundary + (backward ? work_.hop.size() : 0);
  }
  [[nodiscard]] size_t event(bool backward, int stage, int j) const {
    return first_event() + (backward ? cells() : 0) +
           static_cast<size_t>(stage) * work_.micro_batches + j;
  }
  [[nodiscard]] double end_of(const Way& way) const {
    return *std::max_element(way.times.begin(), way.times.begin() + work_.ranks);
  }

  // The bytes that a rank holds.
  [[nodiscard]] int64_t bytes(const Stages& stages, int rank) const {
    int64_t sum = 0;
    for (const int s : work_.stages_of_rank[rank]) {
      sum += (stages[s].forwards - stages[s].inputs) * work_.held[s].until_input +
             (stages[s].inputs - stages[s].weights) * work_.held[s].until_weight;
    }
    return sum;
  }

  // Adds all ways to run one more instruction.
  void go_on(int ran, const Stages& stages, int way) {
    for (int s = 0; s < work_.stages; ++s) {
      const auto [forwards, inputs, weights] = stages[s];
      const int rank = work_.rank_of_stage[s];
      const int ready = s > 0 ? stages[s - 1].forwards : work_.micro_batches;
      const int returned = s + 1 < work_.stages ? stages[s + 1].inputs : forwards;
      if (forwards < ready &&
          bytes(stages, rank) + work_.held[s].until_input <= work_.limit[rank]) {
        add(ran + 1, stages, way, {Op::Forward, s, forwards});
      }
      const StageWork& work = work_.stage[s];
      if (inputs < returned) {
        add(ran + 1, stages, way, {Op::BackwardInput, s, inputs});
        // Where halves take no longer, a whole backward is two halves that follow one another.
        if (weights == inputs && work.whole < work.input + work.weight) {
          add(ran + 2, stages, way, {Op::Backward, s, inputs});
        }
      }
      if (weights < inputs) add(ran + 1, stages, way, {Op::BackwardWeight, s, weights});
    }
  }

  void add(int ran, Stages stages, int before, const Instruction& instruction) {
    const auto [op, s, j, peer] = instruction;
    const StageWork& work = work_.stage[s];
    Way way{ways_[before].times, before, instruction};
    double& clock = way.times[work_.rank_of_stage[s]];
    if (op == Op::Forward) {
      if (s > 0) take(way, event(false, s - 1, j), clock);
      clock += work.forward;
      send(way, s, j, false, clock);
      ++stages[s].forwards;
    } else if (op == Op::BackwardWeight) {
      clock += work.weight;
      ++stages[s].weights;
    } else {
      clock += work.recompute;
      if (s + 1 < work_.stages) take(way, event(true, s + 1, j), clock);
      clock += op == Op::Backward ? work.whole : work.input;
      send(way, s, j, true, clock);
      ++stages[s].inputs;
      if (op == Op::Backward) ++stages[s].weights;
    }
    if (least_end(stages, way, instruction) >= best_) return;
    keep(ran, std::move(stages), std::move(way));
  }

  // Waits for a result, which nobody needs any more.
  static void take(Way& way, size_t event, double& clock) {
    clock = std::max(clock, way.times[event]);
    way.times[event] = 0;
  }

  void send(Way& way, int stage, int j, bool backward, double clock) const {
    const int boundary = backward ? stage - 1 : stage;
    if (boundary < 0 || boundary >= static_cast<int>(work_.hop.size())) return;
    const Hop& hop = work_.hop[boundary];
    if (hop.local) return;
    double there = clock + hop.latency;
    if (hop.on_link > 0) {
      double& free = way.times[link(boundary, backward)];
      free = std::max(free, clock) + hop.on_link;
      there = free + hop.latency;
    }
    way.times[event(backward, stage, j)] = there;
  }

  // No step that begins in this way ends earlier.
  [[nodiscard]] double least_end(const Stages& stages, const Way& way,
                                 const Instruction& last) const {
    const WorkPart part = last.op == Op::Forward          ? WorkPart::Forward
                          : last.op == Op::BackwardWeight ? WorkPart::Weight
                                                          : WorkPart::Input;
    double end = way.times[work_.rank_of_stage[last.stage]];
    if (last.op != Op::Backward) {
      end += known_.tail[part_index(work_, last.stage, last.micro_batch, part)];
    }
    for (int rank = 0; rank < work_.ranks; ++rank) {
      double busy = way.times[rank];
      for (const int s : work_.stages_of_rank[rank]) {
        const LeastBackward least = least_backward(work_.stage[s]);
        busy +=
            (work_.micro_batches - stages[s].forwards) * work_.stage[s].forward +
            (work_.micro_batches - stages[s].inputs) * (work_.stage[s].recompute + least.input) +
            (work_.micro_batches - stages[s].weights) * least.weight;
      }
      end = std::max(end, busy);
    }
    return end;
  }

  void keep(int ran, Stages stages, Way way) {
    const auto no_later = [](const Way& a, const Way& b) {
      return std::equal(a.times.begin(), a.times.end(), b.times.begin(),
                        [](double x, double y) { return x <= y; });
    };
    auto& others = level_[ran][std::move(stages)];
    for (const int other : others) {
      if (no_later(ways_[other], way)) return;
    }
    std::erase_if(others, [&](int other) { return no_later(way, ways_[other]); });
    others.push_back(static_cast<int>(ways_.size()));
    ways_.push_back(std::move(way));
  }

  [[nodiscard]] Programs programs_of(int way) const {
    if (way < 0) return {};
    Programs programs(work_.ranks);
    for (; ways_[way].before >= 0; way = ways_[way].before) {
      const Instruction& instruction = ways_[way].instruction;
      programs[work_.rank_of_stage[instruction.stage]].push_back(instruction);
    }
    for (auto& program : programs) std::reverse(program.begin(), program.end());
    return programs;
  }

  const StepWork& work_;
  const HeadsAndTails& known_;
  double best_;
  std::vector<Way> ways_;
  std::map<int, std::map<Stages, std::vector<int>>> level_;  // by how many halves and forwards ran
};

}  // namespace

bool may_try_all_orders(const StepWork& work) {
  constexpr int kMostCells = 16;
  return work.stages * work.micro_batches <= kMostCells;
}

std::optional<Programs> best_programs(const StepWork& work, const HeadsAndTails& tails,
                                      double known) {
  constexpr double kRounding = 1e-9;
  return Exact(work, tails, known * (1 - kRounding)).run();
}

}  // namespace penstock
