#include "runtime/schedule/draw.h"

#include <algorithm>
#include <vector>

#include "runtime/schedule/form.h"
#include "runtime/schedule/simulate.h"

namespace penstock {
namespace {

struct Cell {
  size_t slot;
  std::string label;
};

std::string label(const Schedule& schedule, const Instruction& instruction) {
  if (schedule.stages > schedule.ranks) return text(instruction);
  return name_of(instruction.op) + std::to_string(instruction.micro_batch);
}

// Every compute instruction in its slot: a simulation in which each takes one unit of time. A
// rank's instructions come in order of time, so every row is sorted.
std::vector<std::vector<Cell>> place(const Schedule& schedule) {
  constexpr StageTimes kOneSlot{.backward = 1};
  const PipelineCosts costs{std::vector<StageTimes>(schedule.stages, kOneSlot)};
  const Timeline timeline = simulate(schedule, costs);
  std::vector<std::vector<Cell>> rows(schedule.ranks);
  for (int rank = 0; rank < schedule.ranks; ++rank) {
    const auto& program = schedule.program[rank];
    for (size_t i = 0; i < program.size(); ++i) {
      if (!is_compute(program[i].op)) continue;
      const auto slot = static_cast<size_t>(timeline.rank[rank][i].start);
      rows[rank].push_back({slot, label(schedule, program[i])});
    }
  }
  return rows;
}

}  // namespace

std::string draw(const Schedule& schedule) {
  check_form(schedule);
  const auto rows = place(schedule);
  size_t width = 0;
  for (const auto& row : rows) {
    for (const Cell& cell : row) width = std::max(width, cell.label.size() + 1);
  }
  std::string picture;
  for (const auto& row : rows) {
    std::string line;
    for (const Cell& cell : row) {
      line.resize(cell.slot * width, ' ');
      line += cell.label;
    }
    picture += line + "\n";
  }
  return picture;
}

}  // namespace penstock
