// runtime/engine/measurements/slow_ranks.h -- SlowRanks: which ranks compute slower than they
// should. Pure.
//
// A rank that waits is no slow rank, and most of a pipeline waits for a slow one, so only the time
// spent in compute instructions counts. It is compared with the forecast, since stages differ; that
// ratio is compared with the other ranks', since a forecast is wrong for all of them in the same
// direction; and where other replicas hold the same stages, the time is compared with theirs.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "runtime/system/comm/grid.h"

namespace penstock {

class SlowRanks {
 public:
  static constexpr int kWindow = 4;       // steps of a window: their mean is one number
  static constexpr int kWindows = 4;      // a rank is named after so many slow windows in a row
  static constexpr double kFactor = 1.5;  // slow: this many times the forecast, and the others

  // `predicted_s`, by position in the pipeline: seconds in compute instructions of a step.
  SlowRanks(const Grid& grid, std::vector<double> predicted_s);

  struct Slow {
    int rank;            // of the world
    double of_forecast;  // its time over its forecast, in the last window
    double others;       // the median of that ratio of all other ranks
  };
  // Called after each window with `busy_s`: by world rank, the mean seconds in compute instructions
  // of its steps. Returns the ranks that have been slow for kWindows windows now, each once in a
  // run.
  [[nodiscard]] std::vector<Slow> see(std::span<const double> busy_s);

 private:
  [[nodiscard]] bool is_slow(std::span<const double> busy_s, int rank) const;

  Grid grid_;
  std::vector<double> predicted_s_;
  std::vector<double> ratios_;  // by world rank, of the last window
  std::vector<int> windows_;    // by world rank: slow windows in a row; -1: named already
};

// "rank 3 (host n7) has computed 2.1 times as long as predicted for 16 steps, ...".
[[nodiscard]] std::string describe(const SlowRanks::Slow& slow, const std::string& host);

// The middle one of the values; of an even number the lower of the two in the middle; 0 of none.
[[nodiscard]] double median(std::vector<double> values);

}  // namespace penstock
