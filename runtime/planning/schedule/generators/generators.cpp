// The schedules with one stage per rank and whole backwards.
#include "runtime/planning/schedule/generators/generators.h"

#include <algorithm>

#include "runtime/planning/schedule/generators/placement.h"
#include "runtime/planning/schedule/generators/warm_up.h"

namespace penstock {
namespace {

// Returns a program of `warm_up` forwards, then one forward and one backward in turn while there
// are forwards left, then the remaining backwards.
std::vector<Instruction> alternating(int stage, int micro_batches, int warm_up) {
  std::vector<Instruction> program;
  program.reserve(2 * static_cast<size_t>(micro_batches));
  for (int j = 0; j < warm_up; ++j) program.push_back({Op::Forward, stage, j});
  for (int j = 0; j < micro_batches; ++j) {
    if (warm_up + j < micro_batches) program.push_back({Op::Forward, stage, warm_up + j});
    program.push_back({Op::Backward, stage, j});
  }
  return program;
}

}  // namespace

Schedule gpipe(int stages, int micro_batches) {
  Schedule schedule = looped(stages, 1, micro_batches);
  for (int r = 0; r < stages; ++r) {
    schedule.program[r] = alternating(r, micro_batches, micro_batches);
  }
  return schedule;
}

Schedule one_f_one_b(int stages, int micro_batches, int warm_up) {
  Schedule schedule = looped(stages, 1, micro_batches);
  for (int r = 0; r < stages; ++r) {
    const int64_t ahead = std::min<int64_t>(micro_batches, forwards_ahead(stages, r, warm_up));
    schedule.program[r] = alternating(r, micro_batches, static_cast<int>(ahead));
  }
  return schedule;
}

Schedule one_f_one_b_deep(int stages, int micro_batches) {
  return one_f_one_b(stages, micro_batches, stages - 1);
}

Schedule forward_only(int stages, int micro_batches) {
  return forward_only(gpipe(stages, micro_batches));
}

Schedule forward_only(const Schedule& training) {
  Schedule schedule = training;
  for (auto& program : schedule.program) {
    std::erase_if(program, [](const Instruction& i) { return i.op != Op::Forward; });
  }
  return schedule;
}

}  // namespace penstock
