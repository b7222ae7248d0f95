// runtime/records/sweep/chart_axes.h -- the axes of a chart: where values are on them, and which
// are written beside them. Pure; private to this room.
#pragma once

#include <string>
#include <vector>

#include "runtime/records/sweep/chart.h"

namespace penstock {

struct AxisScale {
  double low = 0, high = 1;  // low < high
  bool is_log = false;
  std::vector<double> ticks = {};  // values to write, ascending, from low to high

  [[nodiscard]] double share(double value) const;  // place of a value: 0 at low, 1 at high
};

// The scale for the x of all dots; its ticks are the numbers of ranks that occur, as far as there
// is room.
[[nodiscard]] AxisScale x_scale(const Chart& chart);
// The scale for the y of all dots.
[[nodiscard]] AxisScale y_scale(const Chart& chart, bool is_log);

// "50 %" for the share 0.5; "12.5 k".
[[nodiscard]] std::string tick_text(double value, bool is_share);

}  // namespace penstock
