#include "runtime/schedule/simulate.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

#include "runtime/schedule/form.h"
#include "runtime/schedule/replay.h"

namespace penstock {
namespace {

void check_costs(const PipelineCosts& costs, int stages) {
  if (costs.stage.size() != static_cast<size_t>(stages)) {
    throw std::invalid_argument("there are times for " + std::to_string(costs.stage.size()) +
                                " stages, but the schedule has " + std::to_string(stages));
  }
  const auto check = [](double time) {
    if (!(time >= 0) || !std::isfinite(time)) {
      throw std::invalid_argument("a time of " + std::to_string(time) +
                                  " makes no sense; times must be finite and not negative");
    }
  };
  check(costs.within_node.latency);
  for (const StageTimes& t : costs.stage) {
    for (const double time :
         {t.forward, t.recompute, t.backward_input, t.backward_weight, t.backward}) {
      check(time);
    }
  }
}

double duration(const Instruction& instruction, const PipelineCosts& costs) {
  if (!is_compute(instruction.op)) return 0;
  const StageTimes& times = costs.stage[instruction.stage];
  switch (instruction.op) {
    case Op::Forward:
      return times.forward;
    case Op::Recompute:
      return times.recompute;
    case Op::BackwardInput:
      return times.backward_input;
    case Op::BackwardWeight:
      return times.backward_weight;
    default:
      return times.backward;
  }
}

}  // namespace

Timeline simulate(const Schedule& schedule, const PipelineCosts& costs) {
  check_form(schedule);
  check_costs(costs, schedule.stages);
  const ScheduleEvents events(schedule);
  std::vector<double> happened(events.count(), 0);
  std::vector<double> clock(schedule.ranks, 0);
  Timeline timeline{std::vector<std::vector<TimedInstruction>>(schedule.ranks)};
  const std::vector<int> end = replay(schedule, [&](int rank, int index) {
    const Instruction& instruction = schedule.program[rank][index];
    double start = clock[rank];
    if (const int64_t awaited = events.awaited_by(instruction); awaited >= 0) {
      const bool here = schedule.rank_of_stage[events.stage_of(awaited)] == rank;
      start = std::max(start, happened[awaited] + (here ? 0 : costs.within_node.latency));
    }
    clock[rank] = start + duration(instruction, costs);
    timeline.rank[rank].push_back({instruction, start, clock[rank]});
    if (const int64_t caused = events.caused_by(instruction); caused >= 0) {
      happened[caused] = clock[rank];
    }
  });
  for (int rank = 0; rank < schedule.ranks; ++rank) {
    if (end[rank] < static_cast<int>(schedule.program[rank].size())) {
      throw std::invalid_argument("this schedule cannot run: it gets stuck at " +
                                  where(schedule, rank, end[rank]));
    }
  }
  return timeline;
}

}  // namespace penstock
