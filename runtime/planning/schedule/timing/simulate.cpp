// The simulator: a time for every visit of the replay.
#include "runtime/planning/schedule/timing/simulate.h"

#include <algorithm>
#include <stdexcept>
#include <string>

#include "runtime/planning/schedule/edges.h"
#include "runtime/planning/schedule/proof/replay.h"
#include "runtime/planning/schedule/well_formed.h"

namespace penstock {
namespace {

// This carries the messages from one stage to another.
struct Wire {
  const LinkTimes* link = nullptr;
  double busy = 0;     // how long one message occupies it
  double free_at = 0;  // when the last message sent is through
  // These two are used only if the transport limits the messages under way (a window): when each
  // message was received, and how many have been sent.
  std::vector<double> received = {};
  size_t sent = 0;
};

struct RankState {
  double clock = 0;     // end of the rank's last instruction
  double sums_end = 0;  // end of the sums over replicas started so far
  double owed = 0;      // time that this rank must still spend on moving the sums' bytes itself
};

struct Reduction {
  int instruction = -1;  // where ReduceGradients stands in the program; -1: nothing is summed
  int last_weight = -1;  // where the last weight gradient stands; -1: nothing is summed
  double start = 0, end = 0;
};

class Simulation {
 public:
  Simulation(const Schedule& schedule, const PipelineCosts& costs, const TransportRules& rules)
      : schedule_(schedule),
        costs_(costs),
        rules_(rules),
        edges_(schedule),
        events_(schedule),
        happened_(events_.count(), 0),
        rank_(schedule.ranks),
        reduction_(schedule.stages),
        weights_there_(schedule.stages, 0.0) {
    make_wires();
    find_reductions();
    timeline_.rank.resize(schedule.ranks);
    for (int r = 0; r < schedule.ranks; ++r) {
      timeline_.rank[r].reserve(schedule.program[r].size());
      if (!costs.begins.empty()) rank_[r].clock = costs.begins[r];
    }
    send_weights();
  }

  Timeline run() {
    const std::vector<int> end =
        replay(schedule_, rules_, [this](int rank, int index) { visit(rank, index); });
    for (int rank = 0; rank < schedule_.ranks; ++rank) {
      if (end[rank] < static_cast<int>(schedule_.program[rank].size())) {
        throw std::invalid_argument("this schedule cannot run: it gets stuck at " +
                                    where(schedule_, rank, end[rank]));
      }
    }
    place_reductions();
    update();
    return std::move(timeline_);
  }

 private:
  [[nodiscard]] const LinkTimes& link(int stage, int other) const {
    const auto& node = costs_.node_of_rank;
    const bool same = node.empty() ||
                      node[schedule_.rank_of_stage[stage]] == node[schedule_.rank_of_stage[other]];
    return same ? costs_.within_node : costs_.between_nodes;
  }

  [[nodiscard]] Wire wire(int stage, int other, const std::vector<double>& bytes,
                          const std::vector<LinkTimes>& links, size_t i) const {
    const LinkTimes& times = links.empty() ? link(stage, other) : links[i];
    return {.link = &times, .busy = bytes.empty() ? 0 : bytes[i] * times.seconds_per_byte};
  }

  // Makes two wires for every edge, one for each direction.
  void make_wires() {
    for (int s = 0; s + 1 < schedule_.stages; ++s) {
      wires_.insert(wires_.end(), 2,
                    wire(s, s + 1, costs_.boundary_bytes, costs_.boundary_link, s));
    }
    for (size_t k = 0; k < schedule_.skips.size(); ++k) {
      const auto [from, to] = schedule_.skips[k];
      wires_.insert(wires_.end(), 2, wire(from, to, costs_.skip_bytes, costs_.skip_link, k));
    }
  }

  [[nodiscard]] Wire& wire_of(const Instruction& message) {
    return wires_[directed_edge(edges_, message)];
  }
  [[nodiscard]] bool windowed() const { return rules_.window != TransportRules::kSendsNeverWait; }

  void visit(int rank, int index) {
    const Instruction& instruction = schedule_.program[rank][index];
    RankState& state = rank_[rank];
    double start = state.clock;
    switch (instruction.op) {
      case Op::SendActivation:
      case Op::SendGradient:
        send(state, instruction);
        break;
      case Op::RecvActivation:
      case Op::RecvGradient:
        receive(state, instruction);
        break;
      case Op::Audit:
        state.clock += costs_.audit.empty() ? 0 : costs_.audit[rank];
        break;
      case Op::ReduceGradients:
      case Op::OptimizerStep:
        break;
      default:
        start = compute(state, instruction);
        if (index == reduction_[instruction.stage].last_weight) {
          reduce(state, instruction.stage, start);
        }
    }
    timeline_.rank[rank].push_back({instruction, start, state.clock});
  }

  void send(RankState& state, const Instruction& instruction) {
    Wire& wire = wire_of(instruction);
    const auto window = static_cast<size_t>(rules_.window);
    if (windowed() && wire.sent++ >= window) wait(state, wire.received[wire.sent - 1 - window]);
    state.clock += wire.link->overhead;
    double through = state.clock;
    if (!wire.link->receiver_copies) {
      through = wire.free_at = std::max(state.clock, wire.free_at) + wire.busy;
    }
    happened_[events_.caused_by(instruction)] = through + wire.link->latency;
  }

  void receive(RankState& state, const Instruction& instruction) {
    Wire& wire = wire_of(instruction);
    wait(state, happened_[events_.awaited_by(instruction)]);
    state.clock += wire.link->overhead + (wire.link->receiver_copies ? wire.busy : 0);
    if (windowed()) wire.received.push_back(state.clock);
  }

  // Works out when a compute instruction starts and ends. Returns the start.
  double compute(RankState& state, const Instruction& instruction) {
    if (const int64_t awaited = events_.awaited_by(instruction); awaited >= 0) {
      const int from = events_.stage_of(awaited);
      const bool here = schedule_.rank_of_stage[from] == schedule_.rank_of_stage[instruction.stage];
      wait(state, happened_[awaited] + (here ? 0 : link(from, instruction.stage).latency));
    }
    const double start = state.clock;
    state.clock += seconds_of(costs_.stage[instruction.stage], instruction.op);
    if (instruction.op == Op::Forward) wait(state, weights_there_[instruction.stage]);
    if (const int64_t caused = events_.caused_by(instruction); caused >= 0) {
      happened_[caused] = state.clock;
    }
    return start;
  }

  static void wait(RankState& state, double until) {
    if (until <= state.clock) return;
    state.owed = std::max(0.0, state.owed - (until - state.clock));
    state.clock = until;
  }

  [[nodiscard]] bool weights_are_late() const {
    return costs_.late_weights && !costs_.replica_link.receiver_copies;
  }

  void send_weights() {
    if (!weights_are_late()) return;
    const LinkTimes& link = costs_.replica_link;
    const std::vector<double> bytes = gathered_bytes(costs_, schedule_);
    std::vector<double> sent(rank_.size(), 0.0);
    for (int stage = 0; stage < schedule_.stages; ++stage) {
      const int rank = schedule_.rank_of_stage[stage];
      if (bytes[stage] == 0) continue;
      sent[rank] += bytes[stage] * link.seconds_per_byte;
      weights_there_[stage] = rank_[rank].clock + link.latency + sent[rank];
    }
  }

  void find_reductions() {
    if (costs_.replicas == 1 || costs_.reduce.empty()) return;
    for (const auto& program : schedule_.program) {
      for (int i = 0; i < static_cast<int>(program.size()); ++i) {
        const Op op = program[i].op;
        if (op == Op::ReduceGradients) reduction_[program[i].stage].instruction = i;
        const bool weight = op == Op::Backward || op == Op::BackwardWeight;
        if (weight) reduction_[program[i].stage].last_weight = i;
      }
    }
    for (Reduction& reduction : reduction_) {
      if (reduction.instruction < 0) reduction.last_weight = -1;
    }
  }

  // Works out when the sums of a stage's gradients start and end. The stage's last weight gradient
  // has run from `start` until now.
  void reduce(RankState& state, int stage, double start) {
    const LinkTimes& link = costs_.replica_link;
    const int halves = halves_before_update(costs_);
    const double share = halves * half_sum_share(costs_);
    const auto& buckets = costs_.reduce[stage];
    const auto ready = [&](const ReduceBucket& b) {
      return start + b.ready * (state.clock - start);
    };
    Reduction& reduction = reduction_[stage];
    reduction.start = buckets.empty() ? state.clock : std::max(state.sums_end, ready(buckets[0]));
    for (const ReduceBucket& bucket : buckets) {
      const double moving = share * bucket.bytes * link.seconds_per_byte;
      state.sums_end = std::max(state.sums_end, ready(bucket)) + halves * link.latency;
      (link.receiver_copies ? state.owed : state.sums_end) += moving;
    }
    reduction.end = std::max({reduction.start, state.sums_end, state.clock + state.owed});
  }

  void place_reductions() {
    for (int stage = 0; stage < schedule_.stages; ++stage) {
      const auto& [instruction, last_weight, start, end] = reduction_[stage];
      if (last_weight < 0) continue;
      TimedInstruction& span = timeline_.rank[schedule_.rank_of_stage[stage]][instruction];
      span.start = start, span.end = end;
    }
  }

  void update() {
    double all_there = 0;
    const auto there = [](const RankState& state) {
      return std::max(state.clock + state.owed, state.sums_end);
    };
    for (const RankState& state : rank_) all_there = std::max(all_there, there(state));
    const std::vector<double> weights = time_of_weights();
    for (int rank = 0; rank < schedule_.ranks; ++rank) {
      auto& spans = timeline_.rank[rank];
      if (spans.empty() || spans.back().instruction.op != Op::OptimizerStep) continue;
      const double ready = costs_.barrier ? all_there : there(rank_[rank]);
      spans.back().end = ready + (costs_.update.empty() ? 0 : costs_.update[rank]) + weights[rank];
    }
  }

  // Returns the time that moving the weights adds to each rank's update.
  [[nodiscard]] std::vector<double> time_of_weights() const {
    std::vector<double> seconds(rank_.size(), 0.0);
    if (weights_are_late()) return seconds;
    const std::vector<double> bytes = gathered_bytes(costs_, schedule_);
    for (int stage = 0; stage < schedule_.stages; ++stage) {
      double& sum = seconds[schedule_.rank_of_stage[stage]];
      if (bytes[stage] > 0 && sum == 0) sum = costs_.replica_link.latency;
      sum += bytes[stage] * costs_.replica_link.seconds_per_byte;
    }
    return seconds;
  }

  const Schedule& schedule_;
  const PipelineCosts& costs_;
  const TransportRules rules_;
  Edges edges_;
  ScheduleEvents events_;
  std::vector<double> happened_;  // when each event happened; for a message, when it is there
  std::vector<RankState> rank_;
  std::vector<Reduction> reduction_;   // by stage
  std::vector<double> weights_there_;  // by stage: when other replicas' weights are there
  std::vector<Wire> wires_;            // two of each edge
  Timeline timeline_;
};

}  // namespace

Timeline simulate(const Schedule& schedule, const PipelineCosts& costs,
                  const TransportRules& rules) {
  check_well_formed(schedule);
  check_costs(costs, schedule);
  return Simulation(schedule, costs, rules).run();
}

SteadyStep simulate_steady(const Schedule& schedule, PipelineCosts costs,
                           const TransportRules& rules) {
  // All steps after the sixth are alike: a rank that ends a step early waits for the other
  // ranks at the same places in each.
  constexpr int kSteps = 6;
  costs.begins.clear();
  SteadyStep steady;
  double last_end = 0;
  for (int step = 0; step < (costs.barrier ? 1 : kSteps); ++step) {
    steady.timeline = simulate(schedule, costs, rules);
    if (costs.barrier) break;
    const double first =
        costs.begins.empty() ? 0 : *std::min_element(costs.begins.begin(), costs.begins.end());
    double end = 0;
    costs.begins.clear();
    for (auto& spans : steady.timeline.rank) {
      costs.begins.push_back(spans.empty() ? last_end : spans.back().end);
      end = std::max(end, costs.begins.back());
      for (TimedInstruction& span : spans) span.start -= first, span.end -= first;
    }
    steady.length = end - last_end;
    last_end = end;
  }
  if (costs.barrier) steady.length = makespan(steady.timeline);
  return steady;
}

double exposed_communication(const Schedule& schedule, const PipelineCosts& costs,
                             const TransportRules& rules) {
  return simulate_steady(schedule, costs, rules).length -
         simulate_steady(schedule, without_communication(costs), rules).length;
}

}  // namespace penstock
