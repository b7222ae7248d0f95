// runtime/engine/measurements/slow_ranks.h -- SlowRanks: finds the ranks that compute slower than
// they should (stragglers: a throttled or shared processor), from the compute times of all ranks.
// Pure.
//
// In a pipeline most ranks wait for a slow one, so the length of a step does not tell which rank it
// is. Only the seconds that a rank spends in compute instructions count. A rank is slow when all of
// these hold, f being kFactor:
//   time >= f x the forecast of that time, since stages differ
//   time / forecast >= f x the median of time / forecast over all other ranks, since a forecast may
//     be wrong for all ranks alike
//   time >= f x the median time of the ranks that hold the same stages in other replicas, if any
// RunReport calls this on rank 0.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "runtime/system/comm/grid.h"

namespace penstock {

class SlowRanks {
 public:
  static constexpr int kWindow = 4;       // steps in a window: their mean time is what is compared
  static constexpr int kWindows = 4;      // a rank is reported after so many slow windows in a row
  static constexpr double kFactor = 1.5;  // how many times as long is slow

  // `predicted_s`: by position in the pipeline (the same in all replicas), the seconds that a
  // step's compute instructions should take.
  SlowRanks(const Grid& grid, std::vector<double> predicted_s);

  struct Slow {
    int rank;            // its number in the world
    double of_forecast;  // its time over its forecast, in the last window
    double others;       // the median of time / forecast over all other ranks
  };
  // Called after each window, with `busy_s`: by world rank, the mean seconds in compute
  // instructions of a step of the window. Returns the ranks that have now been slow for kWindows
  // windows in a row; each rank is returned once in a run.
  [[nodiscard]] std::vector<Slow> see(std::span<const double> busy_s);

 private:
  [[nodiscard]] bool is_slow(std::span<const double> busy_s, int rank) const;

  Grid grid_;
  std::vector<double> predicted_s_;
  std::vector<double> ratios_;  // by world rank: time over forecast in the last window
  std::vector<int> windows_;    // by world rank: slow windows in a row; -1: reported already
};

// A line for the user: "rank 3 (host n7) has computed 2.1 times as long as predicted for 16 steps,
// ...".
[[nodiscard]] std::string describe(const SlowRanks::Slow& slow, const std::string& host);

// The middle one of the values in ascending order; of an even number of values the lower of the two
// in the middle; 0 where there are none.
[[nodiscard]] double median(std::vector<double> values);

}  // namespace penstock
