// What every rank must do, and in what order on that rank.
#include "runtime/schedule/evidence.h"
#include "runtime/schedule/form.h"

namespace penstock {
namespace {

void check_differentiated_once(const Evidence& e, int stage, int j) {
  const bool whole = e.positions.has(Op::Backward, stage, j);
  const bool input = e.positions.has(Op::BackwardInput, stage, j);
  const bool weight = e.positions.has(Op::BackwardWeight, stage, j);
  if (whole && (input || weight)) {
    const Op half = input ? Op::BackwardInput : Op::BackwardWeight;
    refuse_schedule(e.where({half, stage, j}) + " differentiates again what " +
                    e.where({Op::Backward, stage, j}) + " differentiates");
  }
  if (whole || (input && weight)) return;
  if (input) refuse_missing(e, {Op::BackwardWeight, stage, j}, "only the input gradient is there");
  if (weight) refuse_missing(e, {Op::BackwardInput, stage, j}, "only the weight gradient is there");
  refuse_missing(
      e, {Op::Backward, stage, j},
      "stage " + std::to_string(stage) + " never differentiates micro-batch " + std::to_string(j));
}

// Both must be present on one rank, or `first` may be absent.
void require_order(const Evidence& e, const Instruction& first, const Instruction& second) {
  const int before = e.positions.of(first);
  if (before != kAbsent && before > e.positions.of(second)) {
    refuse_schedule(e.where(second) + " comes before " + e.where(first) + ", which it needs");
  }
}

void check_forward_order(const Evidence& e, int stage, int j) {
  const Instruction forward{Op::Forward, stage, j};
  require_order(e, {Op::RecvActivation, stage, j}, forward);
  if (e.positions.has(Op::SendActivation, stage, j)) {
    require_order(e, forward, {Op::SendActivation, stage, j});
  }
  if (stage > 0 && e.rank_of(stage - 1) == e.rank_of(stage)) {
    require_order(e, {Op::Forward, stage - 1, j}, forward);
  }
}

// The op that makes the input gradient of a stage that is differentiated once.
Op input_gradient_op(const Evidence& e, int stage, int j) {
  return e.positions.has(Op::Backward, stage, j) ? Op::Backward : Op::BackwardInput;
}

void check_backward_order(const Evidence& e, int stage, int j) {
  const Instruction backward{input_gradient_op(e, stage, j), stage, j};
  require_order(e, {Op::Forward, stage, j}, backward);
  require_order(e, {Op::RecvGradient, stage, j}, backward);
  if (e.positions.has(Op::Recompute, stage, j)) {
    require_order(e, {Op::Forward, stage, j}, {Op::Recompute, stage, j});
    require_order(e, {Op::Recompute, stage, j}, backward);
  }
  if (e.positions.has(Op::SendGradient, stage, j)) {
    require_order(e, backward, {Op::SendGradient, stage, j});
  }
  if (e.positions.has(Op::BackwardWeight, stage, j)) {
    require_order(e, backward, {Op::BackwardWeight, stage, j});
  }
  if (stage + 1 < e.schedule.stages && e.rank_of(stage + 1) == e.rank_of(stage)) {
    require_order(e, {input_gradient_op(e, stage + 1, j), stage + 1, j}, backward);
  }
}

// `op_of(j)` is the op that does the work in question for micro-batch j.
template <typename OpOf>
void check_ascending(const Evidence& e, int stage, const char* what, OpOf op_of) {
  for (int j = 1; j < e.schedule.micro_batches; ++j) {
    const Instruction earlier{op_of(j - 1), stage, j - 1};
    const Instruction later{op_of(j), stage, j};
    if (e.positions.of(earlier) < e.positions.of(later)) continue;
    refuse_schedule(e.where(later) + " comes before " + e.where(earlier) + "; " + what +
                    " of a stage run in ascending micro-batch order, so that sums have one order");
  }
}

// ReduceGradients of a stage: once, and after every weight gradient.
void check_reductions(const Evidence& e, int rank) {
  const auto& program = e.schedule.program[rank];
  std::vector<int> reduced(e.schedule.stages, kAbsent);
  for (int i = 0; i < static_cast<int>(program.size()); ++i) {
    const auto [op, stage, j, peer] = program[i];
    const bool adds = op == Op::Backward || op == Op::BackwardWeight;
    if (op != Op::ReduceGradients && !adds) continue;
    if (reduced[stage] != kAbsent) {
      const std::string first = where(e.schedule, rank, reduced[stage]);
      refuse_schedule(where(e.schedule, rank, i) +
                      (adds ? " comes after " + first + ", which would miss its gradients"
                            : " reduces again what " + first + " reduces"));
    }
    if (!adds) reduced[stage] = i;
  }
  if (!e.positions.any_of(Op::ReduceGradients)) return;
  for (int stage = 0; stage < e.schedule.stages; ++stage) {
    if (e.rank_of(stage) == rank && reduced[stage] == kAbsent) {
      refuse_missing(e, {Op::ReduceGradients, stage, -1},
                     "the gradients of other stages are reduced");
    }
  }
}

void check_update(const Evidence& e, int rank) {
  const auto& program = e.schedule.program[rank];
  for (int i = 0; i + 1 < static_cast<int>(program.size()); ++i) {
    if (program[i].op == Op::OptimizerStep) {
      refuse_schedule(where(e.schedule, rank, i) +
                      " is not the last: " + where(e.schedule, rank, i + 1) +
                      " follows, but weights change only at the end of the step");
    }
  }
  const bool updates = !program.empty() && program.back().op == Op::OptimizerStep;
  if (!updates && e.positions.any_of(Op::OptimizerStep)) {
    refuse_schedule("rank " + std::to_string(rank) +
                    " lacks OPT: other ranks update their weights");
  }
}

}  // namespace

void check_computes(const Evidence& e) {
  for (int stage = 0; stage < e.schedule.stages; ++stage) {
    bool recomputes = false;
    for (int j = 0; j < e.schedule.micro_batches; ++j) {
      recomputes = recomputes || e.positions.has(Op::Recompute, stage, j);
    }
    for (int j = 0; j < e.schedule.micro_batches; ++j) {
      if (!e.positions.has(Op::Forward, stage, j)) {
        refuse_missing(
            e, {Op::Forward, stage, j},
            "stage " + std::to_string(stage) + " never forwards micro-batch " + std::to_string(j));
      }
      if (e.training) check_differentiated_once(e, stage, j);
      if (recomputes && !e.positions.has(Op::Recompute, stage, j)) {
        refuse_missing(e, {Op::Recompute, stage, j},
                       "stage " + std::to_string(stage) + " recomputes other micro-batches");
      }
    }
  }
}

void check_local_order(const Evidence& e) {
  for (int stage = 0; stage < e.schedule.stages; ++stage) {
    for (int j = 0; j < e.schedule.micro_batches; ++j) {
      check_forward_order(e, stage, j);
      if (e.training) check_backward_order(e, stage, j);
    }
    check_ascending(e, stage, "forwards", [](int) { return Op::Forward; });
    if (!e.training) continue;
    check_ascending(e, stage, "input gradients",
                    [&](int j) { return input_gradient_op(e, stage, j); });
    check_ascending(e, stage, "weight gradients", [&](int j) {
      return e.positions.has(Op::Backward, stage, j) ? Op::Backward : Op::BackwardWeight;
    });
  }
}

void check_step_end(const Evidence& e) {
  for (int rank = 0; rank < e.schedule.ranks; ++rank) {
    check_reductions(e, rank);
    check_update(e, rank);
  }
}

}  // namespace penstock
