// runtime/records/sweep/plots/curves.h -- sweep_plots(): makes the charts of a sweep, throughput
// and efficiency, each with an ideal line and planned and measured curves.
//
// A sweep runs one experiment at many points (numbers of stages, replicas, ...). Points that differ
// in other keys than the pipeline's are in charts of their own, unless such a key is the x axis or
// makes the series.
#pragma once

#include <string>
#include <vector>

#include "runtime/records/sweep/plots/chart.h"
#include "runtime/records/sweep/plots/plot_choice.h"
#include "runtime/records/sweep/scaling.h"

namespace penstock {

struct SweepPlot {
  std::string file;  // its name: "throughput.svg"; for the second group "throughput-2.svg"
  Chart chart;
};

// Two charts for each group of points (plot_group()). Every point is a dot; a line joins, at each
// x, the point of its series with the highest throughput. All that is ideal is reckoned from one
// anchor: of the measured points of one network the fastest on the fewest ranks, where none is
// measured the same of the planned ones. Efficiency is the share of that, for planned points, too.
// Throughput has an ideal line only over ranks, and only of one network. `about` goes into the
// subtitle: "strong scaling, mini-batch 32".
[[nodiscard]] std::vector<SweepPlot> sweep_plots(const std::vector<ScalingRow>& rows,
                                                 const PlotChoice& choice,
                                                 const std::string& about);

}  // namespace penstock
