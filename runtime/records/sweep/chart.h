// runtime/records/sweep/chart.h -- draws lines and dots over numbers of ranks, as an SVG for a
// paper, a page or a phone. Pure.
//
// The picture follows the reader's choice of light or dark; lines differ in dashes and marks as
// well as in colour. It needs no script, no font, no network.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace penstock {

enum class CurveKind : uint8_t { Ideal, Planned, Measured };
// "ideal", "planned", "measured"
[[nodiscard]] const char* word_of(CurveKind kind);

struct ChartDot {
  double x = 0, y = 0;    // x > 0
  std::string name = {};  // shown while a pointer rests on the dot
};

struct ChartCurve {
  CurveKind kind = CurveKind::Measured;
  std::vector<ChartDot> line = {};  // by ascending x
  std::vector<ChartDot> dots = {};  // drawn beside the line
};

struct Chart {
  std::string title, subtitle;
  bool is_share = false;           // y is a share, drawn in percent from 0 on
  std::vector<ChartCurve> curves;  // curves with neither line nor dots are not drawn
};

// The SVG. Both axes are logarithmic where ranks differ more than eightfold, but not an axis of
// shares.
[[nodiscard]] std::string chart_svg(const Chart& chart);

}  // namespace penstock
