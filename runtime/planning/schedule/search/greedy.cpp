// Greedy list scheduling.
#include "runtime/planning/schedule/search/greedy.h"

#include <algorithm>
#include <array>

namespace penstock {
namespace {

constexpr double kNever = StepTimer::kNever;

class Greedy {
 public:
  Greedy(const StepWork& work, const HeadsAndTails& known, const Policy& policy)
      : work_(work),
        known_(known),
        policy_(policy),
        most_(most_in_flight(work)),
        stage_(work.stages),
        rank_(work.ranks),
        link_free_(2 * work.hop.size(), 0.0) {
    if (!policy.ahead.empty()) {
      for (int s = 0; s < work.stages; ++s) most_[s] = std::min(most_[s], policy.ahead[s]);
    }
    for (Stage& stage : stage_) {
      stage.forward_there.assign(work.micro_batches, kNever);
      stage.gradient_there.assign(work.micro_batches, kNever);
    }
    std::fill(stage_[0].forward_there.begin(), stage_[0].forward_there.end(), 0.0);
    programs_.resize(work.ranks);
  }

  Programs make() {
    for (;;) {
      int best = -1;
      Choice first{};
      for (int rank = 0; rank < work_.ranks; ++rank) {
        if (!rank_[rank].known) {
          rank_[rank].choice = choose(rank);
          rank_[rank].known = true;
        }
        const Choice& choice = rank_[rank].choice;
        if (choice.begin == kNever || (best >= 0 && choice.begin >= first.begin)) continue;
        best = rank;
        first = choice;
      }
      if (best < 0) return std::move(programs_);
      run(best, first);
    }
  }

 private:
  struct Stage {
    int forwards = 0, inputs = 0, weights = 0;          // how many have run
    std::vector<double> forward_there, gradient_there;  // by micro-batch: when its input is there
  };
  // The instruction that a rank would run next, and when it would begin; kNever: none is known.
  struct Choice {
    Op op = Op::Forward;
    int stage = -1;
    double begin = kNever;
    double urgency = 0;
  };
  struct Rank {
    double clock = 0;
    int64_t bytes = 0;
    bool known = false;  // whether `choice` holds
    Choice choice = {};
  };

  [[nodiscard]] bool is_whole(int stage) const {
    return !policy_.whole.empty() && policy_.whole[stage];
  }

  // Whether the rank has room for another micro-batch in a stage, and then for one in each later
  // stage of the rank, so that the oldest micro-batch can always go on.
  [[nodiscard]] bool has_room(int rank, int stage) const {
    const Stage& s = stage_[stage];
    if (s.forwards - s.inputs >= most_[stage]) return false;
    int64_t bytes = rank_[rank].bytes;
    for (const int t : work_.stages_of_rank[rank]) {
      if (t >= stage) bytes += work_.held[t].until_input;
    }
    return bytes <= work_.limit[rank];
  }

  [[nodiscard]] double urgency_of(Op op, int stage, int j) const {
    const WorkPart part = op == Op::Forward ? WorkPart::Forward : WorkPart::Input;
    const double tail = known_.tail[part_index(work_, stage, j, part)];
    const Urgency urgency = policy_.of_stage.empty() ? policy_.urgency : policy_.of_stage[stage];
    const bool first = (urgency == Urgency::InputsFirst && op != Op::Forward) ||
                       (urgency == Urgency::ForwardsFirst && op == Op::Forward);
    constexpr double kAboveAll = 1e18;
    return tail + (first ? kAboveAll : 0);
  }

  // Takes `other` if it begins earlier, or at once like `choice` and is more urgent.
  static void prefer(Choice& choice, const Choice& other) {
    if (other.begin > choice.begin) return;
    if (other.begin < choice.begin || other.urgency > choice.urgency) choice = other;
  }

  [[nodiscard]] Choice choose(int rank) const {
    const double clock = rank_[rank].clock;
    Choice choice{};
    Choice weight{};
    bool wants_room = false;
    for (const int s : work_.stages_of_rank[rank]) {
      const Stage& stage = stage_[s];
      if (stage.forwards < work_.micro_batches && stage.forward_there[stage.forwards] < kNever) {
        const Choice forward{Op::Forward, s, std::max(clock, stage.forward_there[stage.forwards]),
                             urgency_of(Op::Forward, s, stage.forwards)};
        if (has_room(rank, s)) {
          prefer(choice, forward);
        } else {
          wants_room = true;
        }
      }
      if (stage.inputs < stage.forwards && stage.gradient_there[stage.inputs] < kNever) {
        const double there = stage.gradient_there[stage.inputs] - work_.stage[s].recompute;
        prefer(choice, {is_whole(s) ? Op::Backward : Op::BackwardInput, s, std::max(clock, there),
                        urgency_of(Op::BackwardInput, s, stage.inputs)});
      }
      if (stage.weights < stage.inputs && !is_whole(s)) {
        // The stage with the most weight halves to come goes first.
        prefer(weight, {Op::BackwardWeight, s, clock, static_cast<double>(-stage.weights)});
      }
    }
    if (weight.stage < 0) return choice;
    const double patience = policy_.patience * work_.stage[weight.stage].weight;
    if (choice.begin > clock + patience) return weight;
    const bool frees = work_.held[weight.stage].until_weight > 0;
    return wants_room && frees && choice.op == Op::Forward && choice.begin > clock ? weight
                                                                                   : choice;
  }

  void run(int rank, const Choice& choice) {
    Rank& state = rank_[rank];
    Stage& stage = stage_[choice.stage];
    const StageWork& work = work_.stage[choice.stage];
    const auto [until_input, until_weight] = work_.held[choice.stage];
    int j = 0;
    switch (choice.op) {
      case Op::Forward:
        j = stage.forwards++;
        state.clock = choice.begin + work.forward;
        state.bytes += until_input;
        arrive(choice.stage, choice.stage + 1, j, state.clock);
        break;
      case Op::BackwardWeight:
        j = stage.weights++;
        state.clock = choice.begin + work.weight;
        state.bytes -= until_weight;
        break;
      default: {
        const bool whole = choice.op == Op::Backward;
        j = stage.inputs++;
        if (whole) ++stage.weights;
        state.clock = std::max(choice.begin + work.recompute, stage.gradient_there[j]) +
                      (whole ? work.whole : work.input);
        state.bytes -= until_input - (whole ? 0 : until_weight);
        arrive(choice.stage, choice.stage - 1, j, state.clock);
      }
    }
    state.known = false;
    programs_[rank].push_back({choice.op, choice.stage, j});
  }

  // A result of stage `from` goes to the stage that needs it; the last stage turns around.
  void arrive(int from, int to, int j, double clock) {
    if (to < 0) return;
    if (to == work_.stages) {
      stage_[from].gradient_there[j] = clock;
      return;
    }
    const bool backward = to < from;
    const int boundary = std::min(from, to);
    const Hop& hop = work_.hop[boundary];
    double there = clock;
    if (!hop.local) {
      double& link_free = link_free_[boundary + (backward ? work_.hop.size() : 0)];
      link_free = std::max(link_free, clock) + hop.on_link;
      there = link_free + hop.latency;
    }
    (backward ? stage_[to].gradient_there : stage_[to].forward_there)[j] = there;
    rank_[work_.rank_of_stage[to]].known = false;
  }

  const StepWork& work_;
  const HeadsAndTails& known_;
  const Policy& policy_;
  std::vector<int> most_;  // by stage: micro-batches in flight
  std::vector<Stage> stage_;
  std::vector<Rank> rank_;
  std::vector<double> link_free_;  // by boundary, forwards and then backwards
  Programs programs_;
};

}  // namespace

Programs greedy_programs(const StepWork& work, const HeadsAndTails& known, const Policy& policy) {
  return Greedy(work, known, policy).make();
}

}  // namespace penstock
