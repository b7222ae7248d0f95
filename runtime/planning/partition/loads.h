// runtime/planning/partition/loads.h -- Loads: says how long stage s of a pipeline would take, and
// how many bytes it would need, if it had the layers [begin, end). The searches for a good split
// (limited.h) ask this very often.
//
// Each answer is a difference of two running sums, so it takes constant time. Times are in the unit
// of LayerLoads::time, which the caller of balance_within() chooses. A split is the number of
// layers of each stage, first stage first. Used only inside runtime/planning/partition.
#pragma once

#include <algorithm>
#include <limits>
#include <span>
#include <vector>

#include "runtime/planning/partition/limited.h"

namespace penstock {

// A limit that everything keeps.
inline constexpr double kNoLimit = std::numeric_limits<double>::infinity();

// Throws std::invalid_argument for fewer than 1 stage or more stages than layers (partition.cpp).
void check_counts(int layers, int stages);

// Element i of the result is the sum of the first i numbers; it has one element more than `list`.
inline std::vector<double> running_sums(const std::vector<double>& list) {
  std::vector<double> sums{0.0};
  sums.reserve(list.size() + 1);
  for (const double value : list) sums.push_back(sums.back() + value);
  return sums;
}

// Refers to the arguments of its constructor, which must outlive it. `kinds` has, for each kind of
// device, lists of costs with one number per layer; `stages` says of each stage what it holds and
// on which kind (limited.h).
class Loads {
 public:
  Loads(std::span<const LayerLoads> kinds, std::span<const StageLoads> stages)
      : stages_(stages),
        one_pace_(std::ranges::all_of(stages, [](const StageLoads& s) { return s.pace == 1; })) {
    for (const LayerLoads& layers : kinds) {
      kinds_.push_back({.input = &layers.input,
                        .time = running_sums(layers.time),
                        .recompute = running_sums(layers.recompute),
                        .fixed = running_sums(layers.fixed),
                        .tape = running_sums(layers.tape),
                        .inputs = running_sums(layers.input)});
    }
  }

  [[nodiscard]] int layers() const { return static_cast<int>(kinds_[0].input->size()); }
  [[nodiscard]] int stages() const { return static_cast<int>(stages_.size()); }
  [[nodiscard]] const StageLoads& of(int s) const { return stages_[s]; }
  // The largest `end` that stage s can have: each stage after it needs at least one layer.
  [[nodiscard]] int last_end(int s) const { return layers() - (stages() - 1 - s); }

  // The time that stage s takes for one micro-batch if it has the layers [begin, end), as it
  // counts.
  [[nodiscard]] double time(int s, int begin, int end) const {
    const Sums& sums = kind_of(s);
    const double plain = sums.time[end] - sums.time[begin];
    const double again = stages_[s].recomputes ? sums.recompute[end] - sums.recompute[begin] : 0.0;
    return stages_[s].pace * (plain + again);
  }
  // The time of the stages 0 .. s if they shared the layers [0, end) evenly, each by its own speed.
  [[nodiscard]] double mean_time(int s, int end) const {
    if (kinds_.size() > 1 || !one_pace_) {
      double pace = 0;  // shares of the layers in a unit of time
      for (int stage = 0; stage <= s; ++stage) pace += 1 / time(stage, 0, end);
      return 1 / pace;
    }
    const Sums& sums = kinds_[0];
    const auto recomputing = std::count_if(stages_.begin(), stages_.begin() + s + 1,
                                           [](const StageLoads& of) { return of.recomputes; });
    const double stages = s + 1;
    return (sums.time[end] + sums.recompute[end] * static_cast<double>(recomputing) / stages) /
           stages;
  }
  // The bytes that stage s needs if it has the layers [begin, end), as they count.
  [[nodiscard]] double bytes(int s, int begin, int end) const {
    const StageLoads& stage = stages_[s];
    return stage.weight * ((held(s, end) - held(s, begin)) +
                           stage.stashes * (*kind_of(s).input)[begin] + stage.extra);
  }
  // Whether, in every stage but the first, starting one layer later with the same end never takes
  // more memory. It can, where a layer's input is much larger than that of the layer before.
  [[nodiscard]] bool shrink_from_the_left() const {
    for (int s = 1; s < stages(); ++s) {
      const std::vector<double>& input = *kind_of(s).input;
      for (int begin = s; begin + 1 < last_end(s); ++begin) {
        const double left = held(s, begin + 1) - held(s, begin);
        if (left < stages_[s].stashes * (input[begin + 1] - input[begin])) return false;
      }
    }
    return true;
  }

 private:
  // Running sums of the lists of a LayerLoads with these names; `inputs` is that of its `input`.
  struct Sums {
    const std::vector<double>* input;  // by layer
    std::vector<double> time, recompute, fixed, tape, inputs;
  };

  [[nodiscard]] const Sums& kind_of(int s) const { return kinds_[stages_[s].kind]; }
  // The bytes of the layers [0, end) if stage s had them, without its stashes and `extra`.
  [[nodiscard]] double held(int s, int end) const {
    const Sums& sums = kind_of(s);
    return sums.fixed[end] + stages_[s].tapes * sums.tape[end] +
           stages_[s].inputs * sums.inputs[end];
  }

  std::span<const StageLoads> stages_;
  std::vector<Sums> kinds_;
  bool one_pace_;  // whether all stages have that of 1
};

// What each single stage may take.
struct StageLimits {
  double time = kNoLimit;
  double bytes = kNoLimit;  // of each stage alone
};

// Whether stage s with layers [begin, end) keeps both limits.
inline bool within(const Loads& loads, const StageLimits& limits, int s, int begin, int end) {
  return loads.time(s, begin, end) <= limits.time && loads.bytes(s, begin, end) <= limits.bytes;
}

// Fills in the rest of a LimitedSplit for a given split: bottleneck, fullest rank, and whether it
// fits `limit`, the bytes that each rank may take for all its stages together. StageLoads::rank
// says which stages share a rank.
[[nodiscard]] LimitedSplit described(const Loads& loads, std::vector<int> split, double limit);

// The search for ranks that hold several stages (those with the same StageLoads::rank), which share
// the `limit` bytes of their rank (shared_limit.cpp). Returns the fastest split found that fits,
// else the split found whose fullest rank needs the fewest bytes; LimitedSplit::proved says whether
// there can be none better. `fastest` is the best split if each stage alone may take the whole
// limit: no split that fits can be faster.
[[nodiscard]] LimitedSplit search_shared(const Loads& loads, const LimitedSplit& fastest,
                                         double limit);

}  // namespace penstock
