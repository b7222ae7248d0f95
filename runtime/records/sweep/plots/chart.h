// runtime/records/sweep/plots/chart.h -- chart_svg(): draws a chart of curves, such as throughput
// over ranks, as an SVG picture for a paper or a page.
//
// The picture follows the reader's choice of light or dark mode. Curves differ in dashes and marks
// as well as in colour. It needs no script, font or network. curves.h makes the charts of a sweep.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace penstock {

// What the numbers of a curve are; each kind has its own dashes and marks.
enum class CurveKind : uint8_t { Ideal, Planned, Measured };
// "ideal", "planned", "measured"
[[nodiscard]] const char* word_of(CurveKind kind);

struct ChartDot {
  double x = 0, y = 0;
  double low = 0, high = 0;  // the ends of its error bar; there is none unless low < high
  std::string name = {};     // shown while the mouse pointer is on the dot
};

struct ChartCurve {
  CurveKind kind = CurveKind::Measured;
  size_t series = 0;                // an index of Chart::series
  std::vector<ChartDot> line = {};  // joined by a line; by ascending x
  std::vector<ChartDot> dots = {};  // single dots that are not joined
};

// A picture tells so many series apart.
inline constexpr size_t kMostSeries = 8;

struct Chart {
  std::string title, subtitle;
  std::string x_title = {}, y_title = {};  // with units
  bool is_share = false;  // y is a share (1 = 100 %); the axis is in percent, from 0 on
  // Whether an axis is logarithmic. Null: x where the largest is more than eight times the
  // smallest, y where x is. An axis of shares never is. An axis that has values <= 0 must not be
  // asked to be.
  std::optional<bool> log_x = {}, log_y = {};
  std::vector<std::string> series =
      {};  // their names, kMostSeries at most; empty: one without a name
  std::vector<ChartCurve> curves = {};  // those with neither line nor dots are not drawn
};

// Returns the text of the SVG file. It grows in height with the lines of the subtitle and of the
// legend.
[[nodiscard]] std::string chart_svg(const Chart& chart);

}  // namespace penstock
