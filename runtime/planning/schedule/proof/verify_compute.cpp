// The checks of what every rank must do, and in what order on that rank.
#include "runtime/planning/schedule/proof/evidence.h"
#include "runtime/planning/schedule/well_formed.h"

namespace penstock {
namespace {

void check_differentiated_once(const Evidence& e, int stage, int j) {
  const bool whole = e.positions.has({Op::Backward, stage, j});
  const bool input = e.positions.has({Op::BackwardInput, stage, j});
  const bool weight = e.positions.has({Op::BackwardWeight, stage, j});
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

void check_backward_order(const Evidence& e, int stage, int j) {
  const Instruction backward = e.input_gradient(stage, j);
  require_order(e, {Op::Forward, stage, j}, backward);
  if (const Instruction recompute{Op::Recompute, stage, j}; e.positions.has(recompute)) {
    require_order(e, {Op::Forward, stage, j}, recompute);
    require_order(e, recompute, backward);
  }
  if (const Instruction weight = e.weight_gradient(stage, j); weight != backward) {
    require_order(e, backward, weight);
  }
}

// Checks the order of two stages of one rank in the rank's program. They hand over tensors
// directly, so no message makes one wait for the other.
void check_hand_over(const Evidence& e, const StagePair& edge) {
  for (int j = 0; j < e.schedule.micro_batches; ++j) {
    require_order(e, {Op::Forward, edge.from, j}, {Op::Forward, edge.to, j});
    if (e.training) {
      require_order(e, e.input_gradient(edge.to, j), e.input_gradient(edge.from, j));
    }
  }
}

// Refuses a program whose work for micro-batches is not in ascending order. `op_of(j)` is the
// instruction that does this work for micro-batch j.
template <typename OpOf>
void check_ascending(const Evidence& e, const char* what, OpOf op_of) {
  for (int j = 1; j < e.schedule.micro_batches; ++j) {
    const Instruction earlier = op_of(j - 1);
    const Instruction later = op_of(j);
    if (e.positions.of(earlier) < e.positions.of(later)) continue;
    refuse_schedule(e.where(later) + " comes before " + e.where(earlier) + "; " + what +
                    " of a stage run in ascending micro-batch order, so that sums have one order");
  }
}

// Checks the reduction at `index` in the rank's program. It must stand between the last two weight
// gradients of its stage.
void check_reduction(const Evidence& e, int rank, int index) {
  const auto& program = e.schedule.program[rank];
  const int stage = program[index].stage;
  const int last = e.schedule.micro_batches - 1;
  const Instruction final_gradient = e.weight_gradient(stage, last);
  if (index > e.positions.of(final_gradient)) {
    refuse_schedule(where(e.schedule, rank, index) + " comes after " + e.where(final_gradient) +
                    ", whose gradients it should sum while they are made");
  }
  if (last == 0) return;
  const Instruction before = e.weight_gradient(stage, last - 1);
  if (index < e.positions.of(before)) {
    refuse_schedule(where(e.schedule, rank, index) + " comes before " + e.where(before) +
                    ", which still adds to what it sums");
  }
}

// Checks the reductions of a rank. If any stage of the schedule has a ReduceGradients, each stage
// of this rank must have just one.
void check_reductions(const Evidence& e, int rank) {
  if (!e.positions.any_of(Op::ReduceGradients)) return;
  const auto& program = e.schedule.program[rank];
  std::vector<int> reduced(e.schedule.stages, kAbsent);
  for (int i = 0; i < static_cast<int>(program.size()); ++i) {
    if (program[i].op != Op::ReduceGradients) continue;
    int& position = reduced[program[i].stage];
    if (position != kAbsent) {
      refuse_schedule(where(e.schedule, rank, i) + " reduces again what " +
                      where(e.schedule, rank, position) + " reduces");
    }
    position = i;
    check_reduction(e, rank, i);
  }
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
      recomputes = recomputes || e.positions.has({Op::Recompute, stage, j});
    }
    for (int j = 0; j < e.schedule.micro_batches; ++j) {
      if (!e.positions.has({Op::Forward, stage, j})) {
        refuse_missing(
            e, {Op::Forward, stage, j},
            "stage " + std::to_string(stage) + " never forwards micro-batch " + std::to_string(j));
      }
      if (e.training) check_differentiated_once(e, stage, j);
      if (recomputes && !e.positions.has({Op::Recompute, stage, j})) {
        refuse_missing(e, {Op::Recompute, stage, j},
                       "stage " + std::to_string(stage) + " recomputes other micro-batches");
      }
    }
  }
}

void check_compute_order(const Evidence& e) {
  for (int edge = 0; edge < e.edges.count(); ++edge) {
    const StagePair ends = e.edges.ends(edge);
    if (e.rank_of(ends.from) == e.rank_of(ends.to)) check_hand_over(e, ends);
  }
  for (int stage = 0; stage < e.schedule.stages; ++stage) {
    check_ascending(e, "forwards", [&](int j) { return Instruction{Op::Forward, stage, j}; });
    if (!e.training) continue;
    for (int j = 0; j < e.schedule.micro_batches; ++j) check_backward_order(e, stage, j);
    check_ascending(e, "input gradients", [&](int j) { return e.input_gradient(stage, j); });
    check_ascending(e, "weight gradients", [&](int j) { return e.weight_gradient(stage, j); });
  }
}

void check_step_end(const Evidence& e) {
  for (int rank = 0; rank < e.schedule.ranks; ++rank) {
    check_update(e, rank);
    check_reductions(e, rank);
  }
}

}  // namespace penstock
