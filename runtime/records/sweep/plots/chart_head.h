// runtime/records/sweep/plots/chart_head.h -- what stands above the axes of a chart (chart.h):
// title, subtitle and legend; and the marks of its curves. Used only by chart.cpp.
#pragma once

#include <string>

#include "runtime/records/sweep/plots/chart.h"

namespace penstock {

// The style classes of a curve: its kind, and its colour where the chart has several series.
[[nodiscard]] std::string classes_of(const Chart& chart, const ChartCurve& curve);

// The mark of a dot of the curve with its centre at (x, y); `more` are further style classes.
[[nodiscard]] std::string mark_svg(const Chart& chart, const ChartCurve& curve,
                                   const std::string& more, double x, double y);

// Title, subtitle and legend for a picture of that width; texts that are too long go on in the next
// line. Moves `bottom` down to where they end.
[[nodiscard]] std::string head_svg(const Chart& chart, double left, double width, double& bottom);

}  // namespace penstock
