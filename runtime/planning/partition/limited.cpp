#include "runtime/planning/partition/limited.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <string>

#include "runtime/planning/partition/loads.h"
#include "runtime/planning/partition/partition.h"

namespace penstock {
namespace {

void check_list(const std::vector<double>& list, size_t layers, const char* what) {
  if (list.size() != layers) {
    throw std::invalid_argument("there are " + std::to_string(list.size()) + " values of " + what +
                                " for " + std::to_string(layers) + " layers");
  }
  for (size_t i = 0; i < layers; ++i) {
    if (list[i] >= 0 && std::isfinite(list[i])) continue;
    throw std::invalid_argument("the " + std::string(what) + " of layer " + std::to_string(i) +
                                " is " + std::to_string(list[i]) +
                                "; it must be finite and not negative");
  }
}

void check(std::span<const LayerLoads> kinds, std::span<const StageLoads> stages, double limit) {
  if (kinds.empty()) throw std::invalid_argument("a split needs the costs of layers");
  const size_t n = kinds[0].time.size();
  check_counts(static_cast<int>(n), static_cast<int>(stages.size()));
  for (const LayerLoads& layers : kinds) {
    check_list(layers.time, n, "time");
    check_list(layers.recompute, n, "recompute time");
    check_list(layers.fixed, n, "fixed bytes");
    check_list(layers.tape, n, "tape bytes");
    check_list(layers.input, n, "input bytes");
  }
  for (const StageLoads& stage : stages) {
    if (stage.kind < 0 || stage.kind >= std::ssize(kinds)) {
      throw std::invalid_argument("a stage is on a kind of device whose costs are not known");
    }
    if (stage.rank >= 0 && stage.tapes >= 0 && stage.inputs >= 0 && stage.stashes >= 0 &&
        stage.extra >= 0 && stage.pace > 0 && std::isfinite(stage.pace) && stage.weight >= 0 &&
        std::isfinite(stage.weight)) {
      continue;
    }
    throw std::invalid_argument("what a stage holds must not be negative");
  }
  if (!(limit >= 0)) {
    throw std::invalid_argument("a memory limit of " + std::to_string(limit) +
                                " bytes makes no sense");
  }
}

// Returns the furthest end that stage s can have within the limits if it begins at `begin`. Returns
// `begin` if the limits do not allow even one layer.
int furthest(const Loads& loads, const StageLimits& limits, int s, int begin) {
  int low = begin;
  int high = loads.last_end(s);
  while (low < high) {
    const int middle = low + (high - low + 1) / 2;
    if (within(loads, limits, s, begin, middle)) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  return low;
}

enum class Greedy { Arrives, FallsShort, Stuck };

// Gives every stage as many layers as the limits allow. Returns whether all layers are reached, or
// Stuck if a stage cannot hold even its first layer. It might hold it if a stage before it ended
// earlier.
Greedy go_furthest(const Loads& loads, const StageLimits& limits) {
  int begin = 0;
  for (int s = 0; s < loads.stages(); ++s) {
    const int end = furthest(loads, limits, s, begin);
    if (end == begin) return Greedy::Stuck;
    begin = end;
  }
  return begin == loads.layers() ? Greedy::Arrives : Greedy::FallsShort;
}

// cuts[s][e] says whether stage s can end before layer e. The list is empty if the last stage
// cannot end behind the last layer.
using Cuts = std::vector<std::vector<char>>;

Cuts reachable_cuts(const Loads& loads, const StageLimits& limits) {
  const int n = loads.layers();
  Cuts cuts;
  std::vector<char> begins(n + 1, 0);
  begins[0] = 1;
  for (int s = 0; s < loads.stages(); ++s) {
    std::vector<char> ends(n + 1, 0);
    int end = 0;      // furthest end from this begin; the search starts near that of the last begin
    int covered = 0;  // ends up to this one are marked
    for (int begin = s; begin < loads.last_end(s); ++begin) {
      if (begins[begin] == 0) continue;
      end = std::max(end, begin);
      while (end < loads.last_end(s) && within(loads, limits, s, begin, end + 1)) ++end;
      while (end > begin && !within(loads, limits, s, begin, end)) --end;
      for (int e = std::max(covered, begin) + 1; e <= end; ++e) ends[e] = 1;
      covered = std::max(covered, end);
    }
    if (covered == 0) return {};
    begins = ends;
    cuts.push_back(std::move(ends));
  }
  if (cuts.back()[n] == 0) cuts.clear();
  return cuts;
}

// Chooses the starts of stages, from the last stage to the first. Each start is the one that brings
// the stage's time closest to an even share.
std::vector<int> even_split(const Loads& loads, const StageLimits& limits, const Cuts& cuts) {
  std::vector<int> split(loads.stages());
  int end = loads.layers();
  for (int s = loads.stages() - 1; s > 0; --s) {
    const double share = loads.mean_time(s, end);
    int best = -1;
    for (int begin = end - 1; begin >= s; --begin) {
      if (loads.time(s, begin, end) > limits.time) break;
      const auto off = [&](int b) { return std::abs(loads.time(s, b, end) - share); };
      if (best >= 0 && loads.time(s, begin, end) > share && off(begin) >= off(best)) break;
      if (cuts[s - 1][begin] == 0 || !within(loads, limits, s, begin, end)) continue;
      if (best < 0 || off(begin) < off(best)) best = begin;
    }
    split[s] = end - best;
    end = best;
  }
  split[0] = end;
  return split;
}

// Returns the least double in [low, high] for which `holds` is true; it must be true for `high`.
// Doubles that are not negative are ordered as their bit patterns, so this ends after at most 64
// calls of `holds`.
template <typename Holds>
double least(double low, double high, const Holds& holds) {
  auto a = std::bit_cast<uint64_t>(low + 0.0);
  auto b = std::bit_cast<uint64_t>(high + 0.0);
  while (a < b) {
    const uint64_t middle = a + (b - a) / 2;
    if (holds(std::bit_cast<double>(middle))) {
      b = middle;
    } else {
      a = middle + 1;
    }
  }
  return std::bit_cast<double>(a);
}

class Search {
 public:
  Search(const Loads& loads, double limit)
      : loads_(loads), limit_(limit), furthest_is_best_(loads.shrink_from_the_left()) {}

  // Returns the split whose longest stage is shortest. Each stage is within the limit of bytes. If
  // that is impossible, each is within the least limit with which there is a split.
  [[nodiscard]] LimitedSplit fastest() const {
    StageLimits limits{kMost, limit_};
    if (!possible(limits)) {
      limits.bytes = least(0, kMost, [&](double bytes) { return possible({kMost, bytes}); });
    }
    limits.time = least(0, kMost, [&](double time) { return possible({time, limits.bytes}); });
    return described(loads_, even_split(loads_, limits, reachable_cuts(loads_, limits)), limit_);
  }

 private:
  static constexpr double kMost = std::numeric_limits<double>::max();

  [[nodiscard]] bool possible(const StageLimits& limits) const {
    const Greedy greedy = go_furthest(loads_, limits);
    if (greedy == Greedy::Arrives) return true;
    if (greedy == Greedy::FallsShort && furthest_is_best_) return false;
    return !reachable_cuts(loads_, limits).empty();
  }

  const Loads& loads_;
  double limit_;
  // This says whether go_furthest() finds a split if there is one and it is not Stuck.
  bool furthest_is_best_;
};

// Returns the split of balance(), of the layers of the stages' one kind. It is the best split if
// stages are alike and it fits.
std::vector<int> balanced(const LayerLoads& layers, std::span<const StageLoads> stages) {
  std::vector<double> costs = layers.time;
  for (size_t i = 0; i < costs.size(); ++i) {
    if (stages[0].recomputes) costs[i] += layers.recompute[i];
  }
  return balance(costs, static_cast<int>(stages.size()));
}

bool alike(std::span<const StageLoads> stages) {
  return std::all_of(stages.begin(), stages.end(), [&](const StageLoads& stage) {
    return stage.recomputes == stages[0].recomputes && stage.kind == stages[0].kind &&
           stage.pace == stages[0].pace;
  });
}

bool share_ranks(std::span<const StageLoads> stages) {
  std::vector<int> ranks;
  for (const StageLoads& stage : stages) ranks.push_back(stage.rank);
  std::sort(ranks.begin(), ranks.end());
  return std::adjacent_find(ranks.begin(), ranks.end()) != ranks.end();
}

}  // namespace

LimitedSplit described(const Loads& loads, std::vector<int> split, double limit) {
  LimitedSplit result;
  std::vector<double> bytes;  // of each rank
  int begin = 0;
  for (int s = 0; s < loads.stages(); ++s) {
    const int end = begin + split[s];
    const auto rank = static_cast<size_t>(loads.of(s).rank);
    if (rank >= bytes.size()) bytes.resize(rank + 1, 0.0);
    result.bottleneck = std::max(result.bottleneck, loads.time(s, begin, end));
    bytes[rank] += loads.bytes(s, begin, end);
    begin = end;
  }
  const auto fullest = std::max_element(bytes.begin(), bytes.end());
  result.fullest_rank = static_cast<int>(fullest - bytes.begin());
  result.fullest_bytes = *fullest;
  result.fits = *fullest <= limit;
  result.split = std::move(split);
  return result;
}

LimitedSplit balance_within(std::span<const LayerLoads> kinds, std::span<const StageLoads> stages,
                            double limit) {
  check(kinds, stages, limit);
  const Loads loads(kinds, stages);
  if (alike(stages)) {
    LimitedSplit even = described(loads, balanced(kinds[stages[0].kind], stages), limit);
    if (even.fits) return even;
  }
  LimitedSplit fastest = Search(loads, limit).fastest();
  if (fastest.fits || !share_ranks(stages)) return fastest;
  return search_shared(loads, fastest, limit);
}

}  // namespace penstock
