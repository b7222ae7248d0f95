#include "runtime/schedule/lower.h"

#include <stdexcept>

#include "runtime/schedule/form.h"

namespace penstock {
namespace {

// Index of the last weight gradient of each stage in a rank's program, -1 where there is none.
std::vector<int> last_weight_gradients(const Schedule& schedule, int rank) {
  std::vector<int> last(schedule.stages, -1);
  const auto& program = schedule.program[rank];
  for (int i = 0; i < static_cast<int>(program.size()); ++i) {
    const bool weight = program[i].op == Op::Backward || program[i].op == Op::BackwardWeight;
    if (weight) last[program[i].stage] = i;
  }
  return last;
}

// By stage: whether every one of its backwards directly follows its own forward, in that rank's
// program.
std::vector<bool> turns_around_at_once(const Schedule& schedule, int rank) {
  const auto& program = schedule.program[rank];
  std::vector<bool> at_once(schedule.stages, true);
  for (int i = 0; i < static_cast<int>(program.size()); ++i) {
    const auto [op, stage, j, peer] = program[i];
    if (op != Op::Backward && op != Op::BackwardInput) continue;
    if (i == 0 || program[i - 1] != Instruction{Op::Forward, stage, j}) at_once[stage] = false;
  }
  return at_once;
}

std::vector<Instruction> lower_rank(const Schedule& schedule, int rank, const Lowering& options) {
  const auto& program = schedule.program[rank];
  const std::vector<int> last = last_weight_gradients(schedule, rank);
  const std::vector<bool> at_once = turns_around_at_once(schedule, rank);
  const auto recomputes = [&](int stage) {
    return options.recompute && !(options.keep_adjacent && at_once[stage]);
  };
  const auto elsewhere = [&](int stage) {
    return stage >= 0 && stage < schedule.stages && schedule.rank_of_stage[stage] != rank;
  };
  std::vector<Instruction> lowered;
  for (int i = 0; i < static_cast<int>(program.size()); ++i) {
    const auto [op, stage, j, peer] = program[i];
    const bool forward = op == Op::Forward;
    const bool backward = op == Op::Backward || op == Op::BackwardInput;
    if (forward && elsewhere(stage - 1))
      lowered.push_back({Op::RecvActivation, stage, j, stage - 1});
    if (backward && recomputes(stage)) lowered.push_back({Op::Recompute, stage, j});
    if (backward && elsewhere(stage + 1))
      lowered.push_back({Op::RecvGradient, stage, j, stage + 1});
    lowered.push_back(program[i]);
    if (forward && elsewhere(stage + 1))
      lowered.push_back({Op::SendActivation, stage, j, stage + 1});
    if (backward && elsewhere(stage - 1))
      lowered.push_back({Op::SendGradient, stage, j, stage - 1});
    if (options.reduce && last[stage] == i) lowered.push_back({Op::ReduceGradients, stage, -1});
  }
  if (options.update) lowered.push_back({Op::OptimizerStep, -1, -1});
  return lowered;
}

}  // namespace

Schedule lower(const Schedule& schedule, const Lowering& options) {
  check_form(schedule);
  Schedule lowered = schedule;
  for (int rank = 0; rank < schedule.ranks; ++rank) {
    const auto& program = schedule.program[rank];
    for (int i = 0; i < static_cast<int>(program.size()); ++i) {
      if (!is_compute(program[i].op)) {
        throw std::invalid_argument(where(schedule, rank, i) +
                                    " is no compute instruction; only those can be lowered");
      }
    }
    lowered.program[rank] = lower_rank(schedule, rank, options);
  }
  return lowered;
}

}  // namespace penstock
