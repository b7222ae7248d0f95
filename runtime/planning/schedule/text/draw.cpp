// Pictures in text: cells with names where there is room, else a letter a column.
#include "runtime/planning/schedule/text/draw.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "runtime/planning/schedule/timing/simulate.h"
#include "runtime/planning/schedule/well_formed.h"

namespace penstock {
namespace {

struct DrawnCell {
  double start, end;
  std::string label;

  [[nodiscard]] double length() const { return end - start; }
};
using CellRow = std::vector<DrawnCell>;

// A cell that is shorter than this share of the longest one is too short for its name.
constexpr double kShortest = 1.0 / 16;

std::string label(const Schedule& schedule, const Instruction& instruction) {
  if (schedule.stages > schedule.ranks) return text(instruction);
  return name_of(instruction.op) + std::to_string(instruction.micro_batch);
}

// Returns for each rank its compute instructions that take time, in order. Times count from the
// first start on any rank.
std::vector<CellRow> place(const Schedule& schedule, const Timeline& timeline) {
  std::vector<CellRow> rows(timeline.rank.size());
  double first = std::numeric_limits<double>::infinity();
  for (size_t rank = 0; rank < rows.size(); ++rank) {
    for (const TimedInstruction& span : timeline.rank[rank]) {
      if (!is_compute(span.instruction.op) || span.end <= span.start) continue;
      rows[rank].push_back({span.start, span.end, label(schedule, span.instruction)});
      first = std::min(first, span.start);
    }
  }
  for (CellRow& row : rows) {
    for (DrawnCell& cell : row) cell.start -= first, cell.end -= first;
  }
  return rows;
}

// These are the shortest and the longest cell of all ranks, the last end, and the length of the
// longest label.
struct Extremes {
  double shortest = std::numeric_limits<double>::infinity();
  double longest = 0;
  double end = 0;
  size_t widest = 0;  // letters of the longest label
};

Extremes extremes_of(const std::vector<CellRow>& rows) {
  Extremes of;
  for (const CellRow& row : rows) {
    for (const DrawnCell& cell : row) {
      of.shortest = std::min(of.shortest, cell.length());
      of.longest = std::max(of.longest, cell.length());
      of.end = std::max(of.end, cell.end);
      of.widest = std::max(of.widest, cell.label.size());
    }
  }
  return of;
}

// Returns the column of a point in time, with `scale` letters for a unit of time.
size_t column_of(double time, double scale) {
  return static_cast<size_t>(std::lround(time * scale));
}

// Returns a row of names. Each name is filled up to the length of its cell, less one blank.
std::string labelled(const CellRow& row, double scale) {
  std::string line;
  for (const DrawnCell& cell : row) {
    const size_t begin = column_of(cell.start, scale);
    const size_t end = column_of(cell.end, scale);
    if (end <= begin) continue;
    line.resize(begin, ' ');
    std::string shown = cell.label.substr(0, end - begin);
    if (shown.size() + 1 < end - begin) shown.resize(end - begin - 1, '=');
    line += shown;
  }
  return line;
}

// Returns the letter for `span` of time: the op, or the blank, that takes most of the time. If
// several ops take equally much, they alternate from column to column, so that all of them are
// seen.
char letter_for(const std::string& ops, const std::vector<double>& times, double span,
                size_t column) {
  const double kEqual = 1e-9 * span;
  double most = 0;
  double busy = 0;
  for (const double time : times) most = std::max(most, time), busy += time;
  if (most + kEqual < span - busy || most <= kEqual) return ' ';
  std::string candidates;
  for (size_t i = 0; i < ops.size(); ++i) {
    if (times[i] + kEqual >= most) candidates += ops[i];
  }
  return candidates[column % candidates.size()];
}

std::string condensed(const CellRow& row, size_t columns, double span) {
  const std::string ops = "FRIBW";
  std::string line;
  auto first = row.begin();  // the first cell that is not over yet
  for (size_t column = 0; column < columns; ++column) {
    const double begin = span * static_cast<double>(column);
    std::vector<double> times(ops.size(), 0.0);
    while (first != row.end() && first->end <= begin) ++first;
    for (auto cell = first; cell != row.end() && cell->start < begin + span; ++cell) {
      const double shared = std::min(cell->end, begin + span) - std::max(cell->start, begin);
      times[ops.find(cell->label[0])] += std::max(0.0, shared);
    }
    line += letter_for(ops, times, span, column);
  }
  return line.substr(0, line.find_last_not_of(' ') + 1);
}

}  // namespace

std::string draw(const Schedule& schedule, const Timeline& timeline, int columns) {
  const std::vector<CellRow> rows = place(schedule, timeline);
  const Extremes of = extremes_of(rows);
  if (of.longest == 0) return std::string(rows.size(), '\n');
  const double unit = std::max(of.shortest, kShortest * of.longest);
  const double scale = static_cast<double>(of.widest + 1) / unit;
  const size_t length = column_of(of.end, scale);
  const size_t limit = columns > 0 ? static_cast<size_t>(columns) : length;
  // A column of the condensed form is one letter. It stands for `unit`, or for more time if there
  // would otherwise be more columns than the limit.
  const auto shortest = static_cast<size_t>(std::ceil(of.end / unit - 1e-9));
  const size_t letters = std::min(shortest, limit);
  std::string picture;
  for (const CellRow& row : rows) {
    picture += length <= limit ? labelled(row, scale)
                               : condensed(row, letters, of.end / static_cast<double>(letters));
    picture += "\n";
  }
  return picture;
}

std::string draw(const Schedule& schedule, int columns) {
  check_well_formed(schedule);
  PipelineCosts costs;
  costs.stage.assign(schedule.stages, StageTimes{});
  return draw(schedule, simulate(schedule, costs), columns);
}

}  // namespace penstock
