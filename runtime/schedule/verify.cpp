#include "runtime/schedule/verify.h"

#include <algorithm>
#include <stdexcept>

#include "runtime/schedule/form.h"
#include "runtime/schedule/replay.h"

namespace penstock {
namespace {

constexpr int kAbsent = -1;

[[noreturn]] void refuse(const std::string& message) {
  throw std::invalid_argument("bad schedule: " + message);
}

// Where each instruction stands in the program of its stage's rank. Refuses doubled ones.
class Positions {
 public:
  explicit Positions(const Schedule& schedule);

  [[nodiscard]] int of(Op op, int stage, int micro_batch) const {
    return table_[slot(op, stage, micro_batch)];
  }
  [[nodiscard]] int of(const Instruction& i) const { return of(i.op, i.stage, i.micro_batch); }
  [[nodiscard]] bool has(Op op, int stage, int micro_batch) const {
    return of(op, stage, micro_batch) != kAbsent;
  }
  [[nodiscard]] bool any_of(Op op) const { return seen_[static_cast<size_t>(op)]; }

 private:
  static constexpr size_t kPerMicroBatch = static_cast<size_t>(Op::RecvGradient) + 1;

  [[nodiscard]] size_t slot(Op op, int stage, int micro_batch) const {
    return (static_cast<size_t>(op) * stages_ + stage) * micro_batches_ + micro_batch;
  }

  size_t stages_;
  size_t micro_batches_;
  std::vector<int> table_;
  std::vector<bool> seen_ = std::vector<bool>(static_cast<size_t>(Op::OptimizerStep) + 1, false);
};

Positions::Positions(const Schedule& schedule)
    : stages_(schedule.stages),
      micro_batches_(schedule.micro_batches),
      table_(kPerMicroBatch * stages_ * micro_batches_, kAbsent) {
  for (int rank = 0; rank < schedule.ranks; ++rank) {
    const auto& program = schedule.program[rank];
    for (int i = 0; i < static_cast<int>(program.size()); ++i) {
      seen_[static_cast<size_t>(program[i].op)] = true;
      if (program[i].micro_batch < 0)
        continue;  // check_reductions() and check_update() count these
      int& position = table_[slot(program[i].op, program[i].stage, program[i].micro_batch)];
      if (position != kAbsent) {
        refuse(where(schedule, rank, i) + " is there twice, first as instruction " +
               std::to_string(position + 1));
      }
      position = i;
    }
  }
}

// What all checks look at.
struct Subject {
  const Schedule& schedule;
  const Positions& positions;
  bool training;  // false: evaluation

  [[nodiscard]] int rank_of(int stage) const { return schedule.rank_of_stage[stage]; }
  [[nodiscard]] std::string where(const Instruction& i) const {
    return penstock::where(schedule, rank_of(i.stage), positions.of(i));
  }
};

[[noreturn]] void refuse_missing(const Subject& s, const Instruction& missing,
                                 const std::string& why) {
  refuse("rank " + std::to_string(s.rank_of(missing.stage)) + " lacks " + text(missing) + ": " +
         why);
}

void check_nothing_but_forwards(const Schedule& schedule) {
  for (int rank = 0; rank < schedule.ranks; ++rank) {
    const auto& program = schedule.program[rank];
    for (int i = 0; i < static_cast<int>(program.size()); ++i) {
      const Op op = program[i].op;
      if (op != Op::Forward && op != Op::SendActivation && op != Op::RecvActivation) {
        refuse(where(schedule, rank, i) + " has no meaning in a schedule without a backward");
      }
    }
  }
}

void check_differentiated_once(const Subject& s, int stage, int j) {
  const bool whole = s.positions.has(Op::Backward, stage, j);
  const bool input = s.positions.has(Op::BackwardInput, stage, j);
  const bool weight = s.positions.has(Op::BackwardWeight, stage, j);
  if (whole && (input || weight)) {
    const Op half = input ? Op::BackwardInput : Op::BackwardWeight;
    refuse(s.where({half, stage, j}) + " differentiates again what " +
           s.where({Op::Backward, stage, j}) + " differentiates");
  }
  if (whole || (input && weight)) return;
  if (input) refuse_missing(s, {Op::BackwardWeight, stage, j}, "only the input gradient is there");
  if (weight) refuse_missing(s, {Op::BackwardInput, stage, j}, "only the weight gradient is there");
  refuse_missing(
      s, {Op::Backward, stage, j},
      "stage " + std::to_string(stage) + " never differentiates micro-batch " + std::to_string(j));
}

void check_computes(const Subject& s) {
  for (int stage = 0; stage < s.schedule.stages; ++stage) {
    bool recomputes = false;
    for (int j = 0; j < s.schedule.micro_batches; ++j) {
      recomputes = recomputes || s.positions.has(Op::Recompute, stage, j);
    }
    for (int j = 0; j < s.schedule.micro_batches; ++j) {
      if (!s.positions.has(Op::Forward, stage, j)) {
        refuse_missing(
            s, {Op::Forward, stage, j},
            "stage " + std::to_string(stage) + " never forwards micro-batch " + std::to_string(j));
      }
      if (s.training) check_differentiated_once(s, stage, j);
      if (recomputes && !s.positions.has(Op::Recompute, stage, j)) {
        refuse_missing(s, {Op::Recompute, stage, j},
                       "stage " + std::to_string(stage) + " recomputes other micro-batches");
      }
    }
  }
}

// The messages of one directed edge.
struct Edge {
  Op send;
  Op receive;
  int from;  // stage
  int to;    // stage, on another rank
};

std::vector<Edge> edges_of(const Subject& s) {
  std::vector<Edge> edges;
  for (int stage = 0; stage + 1 < s.schedule.stages; ++stage) {
    if (s.rank_of(stage) == s.rank_of(stage + 1)) continue;
    edges.push_back({Op::SendActivation, Op::RecvActivation, stage, stage + 1});
    if (s.training) edges.push_back({Op::SendGradient, Op::RecvGradient, stage + 1, stage});
  }
  return edges;
}

void check_both_ends(const Subject& s, const Edge& edge) {
  for (int j = 0; j < s.schedule.micro_batches; ++j) {
    const Instruction send{edge.send, edge.from, j};
    const Instruction receive{edge.receive, edge.to, j};
    const bool sent = s.positions.of(send) != kAbsent;
    const bool received = s.positions.of(receive) != kAbsent;
    if (sent && received) continue;
    if (sent) refuse_missing(s, receive, "nobody takes what " + s.where(send) + " sends");
    if (received) refuse_missing(s, send, s.where(receive) + " waits for it");
    refuse_missing(s, send,
                   "stage " + std::to_string(edge.to) + " on rank " +
                       std::to_string(s.rank_of(edge.to)) +
                       " needs it, and does not receive it either; has this schedule been through "
                       "lower()?");
  }
}

// Both must be present on one rank, or `first` may be absent.
void require_order(const Subject& s, const Instruction& first, const Instruction& second) {
  const int before = s.positions.of(first);
  if (before != kAbsent && before > s.positions.of(second)) {
    refuse(s.where(second) + " comes before " + s.where(first) + ", which it needs");
  }
}

void check_forward_order(const Subject& s, int stage, int j) {
  const Instruction forward{Op::Forward, stage, j};
  require_order(s, {Op::RecvActivation, stage, j}, forward);
  if (s.positions.has(Op::SendActivation, stage, j)) {
    require_order(s, forward, {Op::SendActivation, stage, j});
  }
  if (stage > 0 && s.rank_of(stage - 1) == s.rank_of(stage)) {
    require_order(s, {Op::Forward, stage - 1, j}, forward);
  }
}

// The op that makes the input gradient of a stage that is differentiated once.
Op input_gradient_op(const Subject& s, int stage, int j) {
  return s.positions.has(Op::Backward, stage, j) ? Op::Backward : Op::BackwardInput;
}

void check_backward_order(const Subject& s, int stage, int j) {
  const Instruction backward{input_gradient_op(s, stage, j), stage, j};
  require_order(s, {Op::Forward, stage, j}, backward);
  require_order(s, {Op::RecvGradient, stage, j}, backward);
  if (s.positions.has(Op::Recompute, stage, j)) {
    require_order(s, {Op::Forward, stage, j}, {Op::Recompute, stage, j});
    require_order(s, {Op::Recompute, stage, j}, backward);
  }
  if (s.positions.has(Op::SendGradient, stage, j)) {
    require_order(s, backward, {Op::SendGradient, stage, j});
  }
  if (s.positions.has(Op::BackwardWeight, stage, j)) {
    require_order(s, backward, {Op::BackwardWeight, stage, j});
  }
  if (stage + 1 < s.schedule.stages && s.rank_of(stage + 1) == s.rank_of(stage)) {
    require_order(s, {input_gradient_op(s, stage + 1, j), stage + 1, j}, backward);
  }
}

// `op_of(j)` is the op that does the work in question for micro-batch j.
template <typename OpOf>
void check_ascending(const Subject& s, int stage, const char* what, OpOf op_of) {
  for (int j = 1; j < s.schedule.micro_batches; ++j) {
    const Instruction earlier{op_of(j - 1), stage, j - 1};
    const Instruction later{op_of(j), stage, j};
    if (s.positions.of(earlier) < s.positions.of(later)) continue;
    refuse(s.where(later) + " comes before " + s.where(earlier) + "; " + what +
           " of a stage run in ascending micro-batch order, so that sums have one order");
  }
}

void check_local_order(const Subject& s) {
  for (int stage = 0; stage < s.schedule.stages; ++stage) {
    for (int j = 0; j < s.schedule.micro_batches; ++j) {
      check_forward_order(s, stage, j);
      if (s.training) check_backward_order(s, stage, j);
    }
    check_ascending(s, stage, "forwards", [](int) { return Op::Forward; });
    if (!s.training) continue;
    check_ascending(s, stage, "input gradients",
                    [&](int j) { return input_gradient_op(s, stage, j); });
    check_ascending(s, stage, "weight gradients", [&](int j) {
      return s.positions.has(Op::Backward, stage, j) ? Op::Backward : Op::BackwardWeight;
    });
  }
}

// Micro-batches in the order in which `op` of `stage` stands in the program.
std::vector<int> order_of(const Subject& s, Op op, int stage) {
  std::vector<int> order(s.schedule.micro_batches);
  for (int j = 0; j < s.schedule.micro_batches; ++j) order[j] = j;
  std::sort(order.begin(), order.end(), [&](int a, int b) {
    return s.positions.of(op, stage, a) < s.positions.of(op, stage, b);
  });
  return order;
}

void check_first_in_first_out(const Subject& s, const Edge& edge) {
  const std::vector<int> sent = order_of(s, edge.send, edge.from);
  const std::vector<int> received = order_of(s, edge.receive, edge.to);
  const auto [a, b] = std::mismatch(sent.begin(), sent.end(), received.begin());
  if (a == sent.end()) return;
  refuse("message " + std::to_string(a - sent.begin() + 1) + " from stage " +
         std::to_string(edge.from) + " to stage " + std::to_string(edge.to) + " is sent by " +
         s.where({edge.send, edge.from, *a}) + " but received by " +
         s.where({edge.receive, edge.to, *b}) +
         "; messages of one edge arrive in the order they were sent");
}

// ReduceGradients of a stage: once, and after every weight gradient.
void check_reductions(const Subject& s, int rank) {
  const auto& program = s.schedule.program[rank];
  std::vector<int> reduced(s.schedule.stages, kAbsent);
  for (int i = 0; i < static_cast<int>(program.size()); ++i) {
    const auto [op, stage, j] = program[i];
    if (op == Op::OptimizerStep || reduced[stage] == kAbsent) {
      if (op == Op::ReduceGradients) reduced[stage] = i;
      continue;
    }
    if (op == Op::ReduceGradients) {
      refuse(where(s.schedule, rank, i) + " is there twice, first as instruction " +
             std::to_string(reduced[stage] + 1));
    }
    if (op == Op::Backward || op == Op::BackwardWeight) {
      refuse(where(s.schedule, rank, i) + " comes after " +
             where(s.schedule, rank, reduced[stage]) + ", which would miss its gradients");
    }
  }
  if (!s.positions.any_of(Op::ReduceGradients)) return;
  for (int stage = 0; stage < s.schedule.stages; ++stage) {
    if (s.rank_of(stage) == rank && reduced[stage] == kAbsent) {
      refuse_missing(s, {Op::ReduceGradients, stage, -1},
                     "the gradients of other stages are reduced");
    }
  }
}

void check_update(const Subject& s, int rank) {
  const auto& program = s.schedule.program[rank];
  for (int i = 0; i + 1 < static_cast<int>(program.size()); ++i) {
    if (program[i].op == Op::OptimizerStep) {
      refuse(where(s.schedule, rank, i) + " is not the last: " + where(s.schedule, rank, i + 1) +
             " follows, but weights change only at the end of the step");
    }
  }
  const bool updates = !program.empty() && program.back().op == Op::OptimizerStep;
  if (!updates && s.positions.any_of(Op::OptimizerStep)) {
    refuse("rank " + std::to_string(rank) + " lacks OPT: other ranks update their weights");
  }
}

// The send that a waiting receive needs.
Instruction send_of(const Instruction& receive) {
  const Op op = receive.op == Op::RecvActivation ? Op::SendActivation : Op::SendGradient;
  return {op, peer_stage(receive), receive.micro_batch};
}

// A stuck rank waits for a send that exists (both ends were compared) and that its own rank does
// not reach, so following the waits from any stuck rank runs into a circle.
void check_deadlock(const Subject& s) {
  const auto& program = s.schedule.program;
  const std::vector<int> end = replay(s.schedule, [](int, int) {});
  int rank = 0;
  while (rank < s.schedule.ranks && end[rank] == static_cast<int>(program[rank].size())) ++rank;
  if (rank == s.schedule.ranks) return;

  std::vector<bool> passed(s.schedule.ranks, false);
  while (!passed[rank]) {
    passed[rank] = true;
    rank = s.rank_of(peer_stage(program[rank][end[rank]]));
  }
  std::string circle;
  const int start = rank;
  do {
    const Instruction& receive = program[rank][end[rank]];
    const Instruction send = send_of(receive);
    circle += (circle.empty() ? "" : "; ") + where(s.schedule, rank, end[rank]) + " waits for " +
              s.where(send);
    rank = s.rank_of(send.stage);
    circle += ", which comes after " + where(s.schedule, rank, end[rank]);
  } while (rank != start);
  refuse("deadlock: " + circle);
}

std::vector<int> peak_stash(const Subject& s) {
  std::vector<int> peaks(s.schedule.ranks, 0);
  if (!s.training) return peaks;
  for (int rank = 0; rank < s.schedule.ranks; ++rank) {
    int stashes = 0;
    for (const Instruction& instruction : s.schedule.program[rank]) {
      const Op op = instruction.op;
      if (op == Op::Forward) ++stashes;
      if (op == Op::Backward || op == Op::BackwardInput) --stashes;
      peaks[rank] = std::max(peaks[rank], stashes);
    }
  }
  return peaks;
}

}  // namespace

Proof verify(const Schedule& lowered) {
  check_form(lowered);
  const Positions positions(lowered);
  const bool training = positions.any_of(Op::Backward) || positions.any_of(Op::BackwardInput) ||
                        positions.any_of(Op::BackwardWeight);
  const Subject subject{lowered, positions, training};
  if (!training) check_nothing_but_forwards(lowered);
  check_computes(subject);
  const std::vector<Edge> edges = edges_of(subject);
  for (const Edge& edge : edges) check_both_ends(subject, edge);
  check_local_order(subject);
  for (int rank = 0; rank < lowered.ranks; ++rank) {
    check_reductions(subject, rank);
    check_update(subject, rank);
  }
  for (const Edge& edge : edges) check_first_in_first_out(subject, edge);
  check_deadlock(subject);
  return {peak_stash(subject)};
}

}  // namespace penstock
