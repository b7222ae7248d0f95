// runtime/records/sweep/step_times.h -- StepTimes: mean, deviation and quartiles of step times, and
// the rules for them.
#pragma once

#include <cstddef>
#include <vector>

namespace penstock {

// Times of steps in milliseconds: of one run over its steps; of several runs over the runs, each of
// which counts by its median.
struct StepTimes {
  size_t count = 0;                         // how many steps were measured
  double median = 0, lower = 0, upper = 0;  // lower and upper quartile
  double mean = 0;
  double deviation = 0;  // sample standard deviation
};

// The times of `values`, each of which counts as a step. There is at least one.
[[nodiscard]] StepTimes times_of(const std::vector<double>& values);

// The mean, which is exact where all values are equal; NaN if there are none.
[[nodiscard]] double mean_of(const std::vector<double>& values);
// The sample standard deviation (over one less than the count); 0 for fewer than two values.
[[nodiscard]] double deviation_of(const std::vector<double>& values);

}  // namespace penstock
