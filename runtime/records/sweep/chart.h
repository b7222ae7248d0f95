// runtime/records/sweep/chart.h -- lines and dots over numbers of ranks, as a picture for a paper,
// a page or a phone. Pure.
//
// Follows the reader's choice of light or dark; lines differ in dashes and marks as well as in
// colour. Needs no script, no font, no network.
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
  std::string name = {};  // what it is, for a pointer that rests on it
};

struct ChartCurve {
  CurveKind kind = CurveKind::Measured;
  std::vector<ChartDot> line = {};  // by ascending x
  std::vector<ChartDot> dots = {};  // drawn beside the line
};

struct Chart {
  std::string title, subtitle;     // of what y is
  bool is_share = false;           // y in percent, from 0
  std::vector<ChartCurve> curves;  // those without a line and dots are left out
};

// Over more than an eightfold range of ranks both axes are logarithmic, shares excepted.
[[nodiscard]] std::string chart_svg(const Chart& chart);

}  // namespace penstock
