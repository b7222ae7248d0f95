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

// One past the last slot in use.
size_t slots(const std::vector<std::vector<Cell>>& rows) {
  size_t count = 0;
  for (const auto& row : rows) {
    if (!row.empty()) count = std::max(count, row.back().slot + 1);
  }
  return count;
}

std::string labelled(const std::vector<Cell>& row, size_t width) {
  std::string line;
  for (const Cell& cell : row) {
    line.resize(cell.slot * width, ' ');
    line += cell.label;
  }
  return line;
}

// One letter for slots of one column: the op, or the blank, that most of them have. Where several
// ops are as frequent, columns take turns, so that a steady state looks like the mixture it is.
char letter_for(const std::vector<char>& ops, size_t column, size_t scale) {
  const auto count = [&](char op) { return std::count(ops.begin(), ops.end(), op); };
  std::string most;
  for (const char op : {'F', 'R', 'I', 'B', 'W'}) {
    if (count(op) == 0 || (!most.empty() && count(op) < count(most[0]))) continue;
    if (!most.empty() && count(op) > count(most[0])) most.clear();
    most += op;
  }
  const auto idle = static_cast<std::ptrdiff_t>(scale - ops.size());
  return most.empty() || count(most[0]) < idle ? ' ' : most[column % most.size()];
}

std::string condensed(const std::vector<Cell>& row, size_t scale) {
  std::string line;
  for (size_t i = 0; i < row.size();) {
    const size_t column = row[i].slot / scale;
    std::vector<char> ops;
    for (; i < row.size() && row[i].slot / scale == column; ++i) ops.push_back(row[i].label[0]);
    line.resize(column, ' ');
    line += letter_for(ops, column, scale);
  }
  return line.substr(0, line.find_last_not_of(' ') + 1);
}

}  // namespace

std::string draw(const Schedule& schedule, int columns) {
  check_form(schedule);
  const auto rows = place(schedule);
  size_t width = 0;
  for (const auto& row : rows) {
    for (const Cell& cell : row) width = std::max(width, cell.label.size() + 1);
  }
  const size_t length = slots(rows);
  const size_t limit = columns > 0 ? static_cast<size_t>(columns) : length * width;
  std::string picture;
  for (const auto& row : rows) {
    picture += length * width <= limit ? labelled(row, width)
                                       : condensed(row, (length + limit - 1) / limit);
    picture += "\n";
  }
  return picture;
}

}  // namespace penstock
