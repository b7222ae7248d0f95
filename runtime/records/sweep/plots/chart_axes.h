// runtime/records/sweep/plots/chart_axes.h -- the axes of a chart (chart.h): which range of values
// each covers, where a value lies on it, and which numbers are written beside it. Used only by
// chart.cpp.
#pragma once

#include <string>
#include <vector>

#include "runtime/records/sweep/plots/chart.h"

namespace penstock {

struct AxisScale {
  double low = 0, high = 1;  // the values at the two ends of the axis; low < high
  bool is_log = false;
  std::vector<double> ticks = {};  // the values to write beside the axis, ascending

  // The place of a value on the axis: 0 at low, 1 at high.
  [[nodiscard]] double share(double value) const;
};

// The scale for the x of all dots and lines. Its ticks are values that occur in the chart,
// as many as there is room for.
[[nodiscard]] AxisScale x_scale(const Chart& chart);
// The scale for the y of all dots and lines; logarithmic if `is_log`.
[[nodiscard]] AxisScale y_scale(const Chart& chart, bool is_log);

// The text of a tick: "50 %" for 0.5 if `is_share`; else "12.5 k" for 12500.
[[nodiscard]] std::string tick_text(double value, bool is_share);

}  // namespace penstock
