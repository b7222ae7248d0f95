// runtime/records/telemetry/quantile.h -- the one rule by which medians and other quantiles are
// told.
#pragma once

#include <vector>

namespace penstock {

// The value below which that share of `values` lies, 0 to 1; between two of them where the share
// falls between their ranks, as numpy.quantile() has it. So the median of an even number of values
// is the mean of the middle two. 0 of no values; all are numbers.
[[nodiscard]] double quantile(std::vector<double> values, double share);

}  // namespace penstock
