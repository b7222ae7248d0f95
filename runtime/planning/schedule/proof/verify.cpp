// The order of the checks, for training and for evaluation, and the counts of the proof.
#include "runtime/planning/schedule/proof/verify.h"

#include "runtime/planning/schedule/proof/evidence.h"
#include "runtime/planning/schedule/proof/stash.h"
#include "runtime/planning/schedule/well_formed.h"

namespace penstock {
namespace {

void check_nothing_but_forwards(const Schedule& schedule) {
  for (int rank = 0; rank < schedule.ranks; ++rank) {
    const auto& program = schedule.program[rank];
    for (int i = 0; i < static_cast<int>(program.size()); ++i) {
      const Op op = program[i].op;
      if (op != Op::Forward && op != Op::SendActivation && op != Op::RecvActivation) {
        refuse_schedule(where(schedule, rank, i) +
                        " has no meaning in a schedule without a backward");
      }
    }
  }
}

Proof counted(const Evidence& e) {
  Proof proof{std::vector<int>(e.schedule.ranks, 0), std::vector<int>(e.schedule.ranks, 0)};
  if (!e.training) return proof;
  for (int rank = 0; rank < e.schedule.ranks; ++rank) {
    const HeldStashes most = peak_stashes(e.schedule.program[rank]);
    proof.peak_stash[rank] = most.whole;
    proof.peak_weight_halves[rank] = most.weight_halves;
  }
  return proof;
}

}  // namespace

Proof verify(const Schedule& lowered, const TransportRules& rules) {
  check_well_formed(lowered);
  const Positions positions(lowered);
  const bool training = positions.any_of(Op::Backward) || positions.any_of(Op::BackwardInput) ||
                        positions.any_of(Op::BackwardWeight);
  if (!training) check_nothing_but_forwards(lowered);
  const Edges edges(lowered);
  const Evidence evidence{lowered, positions, edges, training};
  check_computes(evidence);
  check_both_ends(evidence);
  check_compute_order(evidence);
  check_message_order(evidence);
  check_step_end(evidence);
  check_first_in_first_out(evidence);
  check_deadlock(evidence, rules);
  return counted(evidence);
}

}  // namespace penstock
