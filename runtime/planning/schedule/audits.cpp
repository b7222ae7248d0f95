#include "runtime/planning/schedule/audits.h"

#include <algorithm>
#include <iterator>

#include "runtime/planning/schedule/timing/simulate.h"

namespace penstock {
namespace {

bool ends_cell(Op op) {
  return op == Op::Backward || op == Op::BackwardWeight;
}

// Returns whether a rank only waits in the instruction: for a message, or for all other ranks
// before the update.
bool waits(Op op) {
  return op == Op::RecvActivation || op == Op::RecvGradient || op == Op::OptimizerStep;
}

}  // namespace

Schedule place_audits(Schedule schedule) {
  PipelineCosts unit;
  unit.stage.resize(static_cast<size_t>(schedule.stages));
  const Timeline timeline = simulate(schedule, unit);
  for (size_t rank = 0; rank < schedule.program.size(); ++rank) {
    std::vector<Instruction>& program = schedule.program[rank];
    const std::vector<TimedInstruction>& spans = timeline.rank[rank];
    bool any_complete = false;
    double longest = -1;
    std::ptrdiff_t place = 0;
    for (size_t i = 0; i < program.size(); ++i) {
      any_complete = any_complete || ends_cell(program[i].op);
      if (!any_complete || !waits(program[i].op)) continue;
      const double wait = spans[i].end - spans[i].start;
      if (wait < longest) continue;
      longest = wait;
      place = static_cast<std::ptrdiff_t>(i);
    }
    program.insert(program.begin() + place, {Op::Audit});
  }
  return schedule;
}

std::vector<AuditedCell> audited_cells(const std::vector<Instruction>& program) {
  const auto is_audit = [](const Instruction& i) { return i.op == Op::Audit; };
  const auto audit = std::ranges::find_if(program, is_audit);
  std::vector<AuditedCell> cells;
  if (audit == program.end()) return cells;
  for (auto i = program.begin(); i != audit; ++i) {
    if (ends_cell(i->op)) cells.push_back({i->stage, i->micro_batch});
  }
  return cells;
}

}  // namespace penstock
