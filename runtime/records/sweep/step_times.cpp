#include "runtime/records/sweep/step_times.h"

#include <cmath>
#include <limits>

#include "runtime/records/telemetry/quantile.h"

namespace penstock {

double mean_of(const std::vector<double>& values) {
  if (values.empty()) return std::numeric_limits<double>::quiet_NaN();
  // Distances from the first value are added up, so that equal values have exactly that mean.
  double distance = 0;
  for (const double value : values) distance += value - values[0];
  return values[0] + distance / static_cast<double>(values.size());
}

double deviation_of(const std::vector<double>& values) {
  if (values.size() < 2) return 0;
  const double mean = mean_of(values);
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  return std::sqrt(squares / static_cast<double>(values.size() - 1));
}

StepTimes times_of(const std::vector<double>& values) {
  return {.count = values.size(),
          .median = quantile(values, 0.5),
          .lower = quantile(values, 0.25),
          .upper = quantile(values, 0.75),
          .mean = mean_of(values),
          .deviation = deviation_of(values)};
}

}  // namespace penstock
