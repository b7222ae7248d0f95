// runtime/planning/partition/loads.h -- Loads: the time and bytes of any stage over any run of
// layers. Private to this room.
#pragma once

#include <algorithm>
#include <limits>
#include <span>
#include <vector>

#include "runtime/planning/partition/limited.h"

namespace penstock {

inline constexpr double kNoLimit = std::numeric_limits<double>::infinity();

// Throws std::invalid_argument for fewer than 1 stage or more stages than layers (partition.cpp).
void check_counts(int layers, int stages);

// [i]: the sum of the first i numbers.
inline std::vector<double> running_sums(const std::vector<double>& list) {
  std::vector<double> sums{0.0};
  sums.reserve(list.size() + 1);
  for (const double value : list) sums.push_back(sums.back() + value);
  return sums;
}

class Loads {
 public:
  Loads(const LayerLoads& layers, std::span<const StageLoads> stages)
      : input_(layers.input),
        stages_(stages),
        time_(running_sums(layers.time)),
        recompute_(running_sums(layers.recompute)),
        fixed_(running_sums(layers.fixed)),
        tape_(running_sums(layers.tape)),
        inputs_(running_sums(layers.input)) {}

  [[nodiscard]] int layers() const { return static_cast<int>(input_.size()); }
  [[nodiscard]] int stages() const { return static_cast<int>(stages_.size()); }
  [[nodiscard]] const StageLoads& of(int s) const { return stages_[s]; }
  // The largest end of a stage: later stages need at least one layer each.
  [[nodiscard]] int last_end(int s) const { return layers() - (stages() - 1 - s); }

  // Time and bytes of stage s with layers [begin, end).
  [[nodiscard]] double time(int s, int begin, int end) const {
    const double plain = time_[end] - time_[begin];
    return stages_[s].recomputes ? plain + (recompute_[end] - recompute_[begin]) : plain;
  }
  // The time of each of stages 0 to s if they shared the layers before `end` out evenly.
  [[nodiscard]] double mean_time(int s, int end) const {
    const auto recomputing = std::count_if(stages_.begin(), stages_.begin() + s + 1,
                                           [](const StageLoads& of) { return of.recomputes; });
    const double stages = s + 1;
    return (time_[end] + recompute_[end] * static_cast<double>(recomputing) / stages) / stages;
  }
  [[nodiscard]] double bytes(int s, int begin, int end) const {
    return (held(s, end) - held(s, begin)) + stages_[s].stashes * input_[begin] + stages_[s].extra;
  }
  // Whether starting a stage one layer later never takes more memory, for all stages but the
  // first, which starts at layer 0.
  [[nodiscard]] bool shrink_from_the_left() const {
    for (int s = 1; s < stages(); ++s) {
      for (int begin = s; begin + 1 < last_end(s); ++begin) {
        const double left = held(s, begin + 1) - held(s, begin);
        if (left < stages_[s].stashes * (input_[begin + 1] - input_[begin])) return false;
      }
    }
    return true;
  }

 private:
  [[nodiscard]] double held(int s, int end) const {
    return fixed_[end] + stages_[s].tapes * tape_[end] + stages_[s].inputs * inputs_[end];
  }

  const std::vector<double>& input_;
  std::span<const StageLoads> stages_;
  std::vector<double> time_, recompute_, fixed_, tape_, inputs_;
};

struct StageLimits {
  double time = kNoLimit;
  double bytes = kNoLimit;  // of each stage alone
};

// Whether stage s with layers [begin, end) keeps both limits.
inline bool within(const Loads& loads, const StageLimits& limits, int s, int begin, int end) {
  return loads.time(s, begin, end) <= limits.time && loads.bytes(s, begin, end) <= limits.bytes;
}

// The split with its times and bytes.
[[nodiscard]] LimitedSplit described(const Loads& loads, std::vector<int> split, double limit);

// The fastest split that was found within a limit that stages of one rank share, else the one with
// the emptiest fullest rank (shared_limit.cpp). No split is faster than `fastest`, the answer where
// each stage may take the whole limit.
[[nodiscard]] LimitedSplit search_shared(const Loads& loads, const LimitedSplit& fastest,
                                         double limit);

}  // namespace penstock
