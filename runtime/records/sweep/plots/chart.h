// runtime/records/sweep/plots/chart.h -- chart_svg(): draws a chart of curves over the number of
// ranks, such as throughput over ranks, as an SVG picture for a paper or a page.
//
// The picture follows the reader's choice of light or dark mode. Curves differ in dashes and marks
// as well as in colour. It needs no script, font or network. curves.h makes the charts of a sweep.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace penstock {

// What the numbers of a curve are; each kind has its own colour, dashes and marks.
enum class CurveKind : uint8_t { Ideal, Planned, Measured };
// "ideal", "planned", "measured"
[[nodiscard]] const char* word_of(CurveKind kind);

struct ChartDot {
  double x = 0, y = 0;    // x: a number of ranks, above 0
  std::string name = {};  // shown while the mouse pointer is on the dot
};

struct ChartCurve {
  CurveKind kind = CurveKind::Measured;
  std::vector<ChartDot> line = {};  // joined by a line; by ascending x
  std::vector<ChartDot> dots = {};  // single dots that are not joined
};

struct Chart {
  std::string title, subtitle;
  bool is_share = false;           // y is a share (1 = 100 %); the axis is in percent, from 0 on
  std::vector<ChartCurve> curves;  // those with neither line nor dots are not drawn
};

// Returns the text of the SVG file. Where the largest number of ranks is more than eight times the
// smallest, the axes are logarithmic, except an axis of shares.
[[nodiscard]] std::string chart_svg(const Chart& chart);

}  // namespace penstock
