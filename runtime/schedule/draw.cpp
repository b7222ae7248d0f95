#include "runtime/schedule/draw.h"

#include <algorithm>
#include <stdexcept>

#include "runtime/schedule/form.h"
#include "runtime/schedule/replay.h"

namespace penstock {
namespace {

struct Cell {
  int slot;
  std::string label;
};

// The rank's slots are given out in the order of its program, so every row comes sorted.
std::vector<std::vector<Cell>> place(const Schedule& schedule) {
  const Events events(schedule);
  std::vector<int> reached(events.count(), 0);  // the slot from which on an event has happened
  std::vector<int> clock(schedule.ranks, 0);
  std::vector<std::vector<Cell>> rows(schedule.ranks);
  const bool several = schedule.stages > schedule.ranks;
  const std::vector<int> end = replay(schedule, [&](int rank, int index) {
    const Instruction& instruction = schedule.program[rank][index];
    const int64_t awaited = events.awaited_by(instruction);
    if (awaited >= 0) clock[rank] = std::max(clock[rank], reached[awaited]);
    if (is_compute(instruction.op)) {
      const auto short_label = name_of(instruction.op) + std::to_string(instruction.micro_batch);
      rows[rank].push_back({clock[rank], several ? text(instruction) : short_label});
      ++clock[rank];
    }
    const int64_t caused = events.caused_by(instruction);
    if (caused >= 0) reached[caused] = clock[rank];
  });
  for (int rank = 0; rank < schedule.ranks; ++rank) {
    if (end[rank] < static_cast<int>(schedule.program[rank].size())) {
      throw std::invalid_argument("this schedule cannot be drawn: it gets stuck at " +
                                  where(schedule, rank, end[rank]));
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
