// runtime/records/telemetry/quantile.h -- the one rule by which medians and other quantiles are
// computed.
#pragma once

#include <vector>

namespace penstock {

// The quantile of `values` (no NaN) at `share`, 0 to 1, interpolated linearly as numpy.quantile()
// does it: the median of an even number of values is the mean of the middle two. 0 for no values.
[[nodiscard]] double quantile(std::vector<double> values, double share);

}  // namespace penstock
