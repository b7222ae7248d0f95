#include "runtime/schedule/draw.h"

#include <algorithm>
#include <array>
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

// `scale` slots a letter: that of the op, or the blank, which most of them have.
std::string condensed(const std::vector<Cell>& row, size_t scale) {
  std::string line;
  for (size_t i = 0; i < row.size();) {
    const size_t column = row[i].slot / scale;
    std::array<size_t, 128> count = {};
    size_t idle = scale;
    for (; i < row.size() && row[i].slot / scale == column; ++i, --idle) {
      ++count[static_cast<unsigned char>(row[i].label[0])];
    }
    const auto* const most = std::max_element(count.begin(), count.end());
    line.resize(column, ' ');
    line += *most >= idle ? static_cast<char>(most - count.begin()) : ' ';
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
