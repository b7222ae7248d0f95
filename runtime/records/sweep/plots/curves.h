// runtime/records/sweep/plots/curves.h -- sweep_plots(): makes the two charts of a sweep,
// throughput and efficiency over the number of ranks, each with an ideal, a planned and a measured
// curve.
//
// A sweep runs one experiment at many points (numbers of stages, replicas, ...). A group is the
// points that train the same network with the same options besides the pipeline's; only they
// compare.
#pragma once

#include <string>
#include <vector>

#include "runtime/records/sweep/plots/chart.h"
#include "runtime/records/sweep/scaling.h"

namespace penstock {

struct SweepPlot {
  std::string file;  // its name: "throughput.svg"; for the second group "throughput-2.svg"
  Chart chart;
};

// Two charts for each group. Every point is a dot; a line joins, at each number of ranks, the point
// with the highest throughput. `about` goes into the subtitle: "strong scaling, mini-batch 32".
[[nodiscard]] std::vector<SweepPlot> sweep_plots(const std::vector<ScalingRow>& rows,
                                                 const std::string& about);

}  // namespace penstock
