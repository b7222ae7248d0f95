// runtime/records/sweep/chart_axes.h -- where a chart's values are on its paper, and which are
// written at its edges. Pure; private to this room.
#pragma once

#include <string>
#include <vector>

#include "runtime/records/sweep/chart.h"

namespace penstock {

struct AxisScale {
  double low = 0, high = 1;  // low < high
  bool is_log = false;
  std::vector<double> ticks = {};  // ascending, within

  [[nodiscard]] double share(double value) const;  // 0 at low, 1 at high
};

// The scale for the x of all dots; its ticks are the numbers of ranks that occur, as far as there
// is room.
[[nodiscard]] AxisScale x_scale(const Chart& chart);
[[nodiscard]] AxisScale y_scale(const Chart& chart, bool is_log);

[[nodiscard]] std::string tick_text(double value, bool is_share);

}  // namespace penstock
