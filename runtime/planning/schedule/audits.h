// runtime/planning/schedule/audits.h -- place_audits(): puts an Audit instruction into each rank's
// program, where the rank has time to execute something again.
//
// In a step that is audited, each rank executes there a second time what one micro-batch did in one
// of its stages, and compares the bits (runtime/engine/pipeline/audit/audit.h). The Audit stands in
// the rank's longest wait after a complete micro-batch, by the unit times of StageTimes; a rank
// that never waits has it right before its update.
#pragma once

#include <vector>

#include "runtime/planning/schedule/schedule.h"

namespace penstock {

// `schedule` is lowered and has an OptimizerStep on every rank. Of two waits of one length the
// later is taken: more micro-batches are complete by then.
[[nodiscard]] Schedule place_audits(Schedule schedule);

// A cell is the work of a micro-batch in a stage; one is drawn for each audit.
struct AuditedCell {
  int stage = 0, micro_batch = 0;
  bool operator==(const AuditedCell&) const = default;
};
// The cells whose backward, weight half included, comes before the Audit of the program, in the
// order in which they end; none where there is no Audit.
[[nodiscard]] std::vector<AuditedCell> audited_cells(const std::vector<Instruction>& program);

}  // namespace penstock
