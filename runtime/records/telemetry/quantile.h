// runtime/records/telemetry/quantile.h -- quantile(): computes medians and other quantiles of a
// list of numbers, by one rule for all reports.
#pragma once

#include <vector>

namespace penstock {

// Returns the quantile at `share` (0 to 1; 0.5 is the median) of `values`, in any order, without
// NaN. It interpolates linearly, as numpy.quantile() does: the median of an even number of values
// is the mean of the middle two. 0 if there are no values.
[[nodiscard]] double quantile(std::vector<double> values, double share);

}  // namespace penstock
