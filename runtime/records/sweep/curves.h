// runtime/records/sweep/curves.h -- the plots of a sweep: throughput and efficiency over ranks,
// each as ideal, planned and measured. Pure.
#pragma once

#include <string>
#include <vector>

#include "runtime/records/sweep/chart.h"
#include "runtime/records/sweep/scaling.h"

namespace penstock {

struct SweepPlot {
  std::string file;  // "throughput.svg", and of further groups "throughput-2.svg"
  Chart chart;
};

// Two for each group of points. Every point is a dot; lines join, at each number of ranks, the one
// with the highest throughput. `about` is what the scaling was: "strong scaling, mini-batch 32".
[[nodiscard]] std::vector<SweepPlot> sweep_plots(const std::vector<ScalingRow>& rows,
                                                 const std::string& about);

}  // namespace penstock
