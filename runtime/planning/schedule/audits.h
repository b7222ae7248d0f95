// runtime/planning/schedule/audits.h -- the place in each rank's program where it has time to
// execute something again.
//
// A step that is audited executes what one micro-batch did in one stage of each rank a second time,
// and compares the bits (runtime/engine/pipeline/audit/audit.h). Its place is an instruction of the
// program, so that pictures, timelines and the simulator know it: the Audit. It stands in the
// rank's longest wait that has a complete micro-batch before it, by the unit times of StageTimes; a
// rank that never waits has it right before its update.
#pragma once

#include <vector>

#include "runtime/planning/schedule/schedule.h"

namespace penstock {

// `schedule` is lowered and updates. Where two waits are as long, the later one is taken: more
// micro-batches are complete by then.
[[nodiscard]] Schedule place_audits(Schedule schedule);

// The work of a micro-batch in a stage: one such cell is drawn for each audit.
struct AuditedCell {
  int stage = 0, micro_batch = 0;
  bool operator==(const AuditedCell&) const = default;
};
// The cells whose backward, weight half included, comes before the Audit of the program, in the
// order in which they end; none where there is no Audit.
[[nodiscard]] std::vector<AuditedCell> audited_cells(const std::vector<Instruction>& program);

}  // namespace penstock
