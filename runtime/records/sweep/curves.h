// runtime/records/sweep/curves.h -- makes the charts of a sweep: throughput and efficiency over
// ranks, each as ideal, planned and measured. Pure.
#pragma once

#include <string>
#include <vector>

#include "runtime/records/sweep/chart.h"
#include "runtime/records/sweep/scaling.h"

namespace penstock {

struct SweepPlot {
  std::string file;  // "throughput.svg"; of the second group "throughput-2.svg"
  Chart chart;
};

// Two charts for each group of points. Every point is a dot; lines join the points with the highest
// throughput at each number of ranks. `about` says how it scales: "strong scaling, mini-batch 32".
[[nodiscard]] std::vector<SweepPlot> sweep_plots(const std::vector<ScalingRow>& rows,
                                                 const std::string& about);

}  // namespace penstock
