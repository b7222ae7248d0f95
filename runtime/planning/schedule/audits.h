// runtime/planning/schedule/audits.h -- place_audits(): adds one Audit instruction to each rank's
// program, at a moment when the rank would only wait.
//
// An audit finds processors that compute wrongly without an error. In some steps (every
// run.audit-th) each rank runs forward and backward of one finished micro-batch of one of its
// stages a second time and compares the results bit by bit (runtime/engine/pipeline/audit/audit.h).
// To cost little time the Audit stands before the longest wait of the rank. The wait is found by
// simulating the step with the default StageTimes (forward 1, whole backward 2) and messages that
// take no time; only waits after the rank's first complete backward count.
#pragma once

#include <vector>

#include "runtime/planning/schedule/schedule.h"

namespace penstock {

// Returns the schedule with the Audits. `schedule` must have been lowered (lower.h) and have an
// OptimizerStep on every rank. Waiting for other ranks before the OptimizerStep counts as a wait
// too, so a rank that waits nowhere has its Audit right before the OptimizerStep. Of equally long
// waits the latest is taken, since more micro-batches are complete by then.
[[nodiscard]] Schedule place_audits(Schedule schedule);

// A cell: the forward and backward of one micro-batch in one stage. Each Audit chooses one of them
// at random and repeats it.
struct AuditedCell {
  int stage = 0, micro_batch = 0;  // numbers from 0 in the whole pipeline and mini-batch
  bool operator==(const AuditedCell&) const = default;
};
// The cells that the Audit of one rank's program can choose from: those whose whole backward (both
// halves) stands before the Audit, in the order in which they end. Empty if the program has no
// Audit.
[[nodiscard]] std::vector<AuditedCell> audited_cells(const std::vector<Instruction>& program);

}  // namespace penstock
