#include "runtime/planning/partition/partition.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <string>

#include "runtime/planning/partition/loads.h"

namespace penstock {
namespace {

using Costs = std::span<const double>;

void check_costs(Costs costs) {
  double sum = 0;
  for (size_t i = 0; i < costs.size(); ++i) {
    if (!(costs[i] >= 0) || !std::isfinite(costs[i])) {
      throw std::invalid_argument("the cost of layer " + std::to_string(i) + " is " +
                                  std::to_string(costs[i]) +
                                  "; costs must be finite and not negative");
    }
    sum += costs[i];
  }
  if (!std::isfinite(sum)) {
    throw std::invalid_argument("the costs of the layers add up to more than a double can hold");
  }
}

// Returns the end (one past the last layer) of the longest stage that starts at `begin` and costs
// at most `limit`.
int furthest_end(Costs costs, int begin, double limit) {
  double sum = 0;
  int end = begin;
  while (end < static_cast<int>(costs.size())) {
    sum += costs[end];
    if (sum > limit) break;
    ++end;
  }
  return end;
}

// Returns whether the layers fit into so many stages of at most `limit` each. Each stage is filled
// as far as possible, which needs the fewest stages. Stages can stay empty here: there are enough
// layers, so a split into fewer stages can be cut further.
bool fits(Costs costs, int stages, double limit) {
  int begin = 0;
  for (int stage = 0; stage < stages; ++stage) begin = furthest_end(costs, begin, limit);
  return begin == static_cast<int>(costs.size());
}

// Returns the least limit with which the layers fit. Doubles that are not negative are ordered as
// their bit patterns, so bisecting the patterns ends at the exact optimum after at most 64 probes.
double best_bottleneck(Costs costs, int stages) {
  auto low = std::bit_cast<uint64_t>(*std::max_element(costs.begin(), costs.end()) + 0.0);
  auto high = std::bit_cast<uint64_t>(std::accumulate(costs.begin(), costs.end(), 0.0));
  while (low < high) {
    const uint64_t middle = low + (high - low) / 2;
    if (fits(costs, stages, std::bit_cast<double>(middle))) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return std::bit_cast<double>(low);
}

// Finds the split with the least sum of squared stage costs among those within a bottleneck. It
// uses dynamic programming over "the first k stages end before layer i". For each k only an
// interval of ends counts: those with which the stages before and the stages behind can be
// completed. The sum of squares is Monge: if a stage ends later, its best start is later or the
// same. So the middle end is solved first, and its best start bounds the starts of the ends on
// either side. This takes O(interval log interval) per stage.
class LeastSquares {
 public:
  LeastSquares(Costs costs, int stages, double bottleneck)
      : layers_(static_cast<int>(costs.size())), stages_(stages) {
    find_starts(costs, bottleneck);
    find_ends(costs, bottleneck);
    // Costs are scaled by a power of two, so that squares neither overflow nor vanish. Equal costs
    // stay equal.
    const int exponent = std::ilogb(*std::max_element(costs.begin(), costs.end()));
    before_.assign(1, 0.0);
    for (const double c : costs) before_.push_back(before_.back() + std::scalbn(c, -exponent));
  }

  std::vector<int> solve() {
    least_.assign(layers_ + 1, 0.0);
    next_ = least_;
    for (int k = 1; k <= stages_; ++k) {
      start_of_last_.emplace_back(last_end_[k] - first_end_[k] + 1);
      fill(k, first_end_[k], last_end_[k], first_end_[k - 1], last_end_[k - 1]);
      std::swap(least_, next_);
    }
    std::vector<int> split(stages_);
    for (int k = stages_, end = layers_; k > 0; --k) {
      const int start = start_of_last_[k - 1][end - first_end_[k]];
      split[k - 1] = end - start;
      end = start;
    }
    return split;
  }

 private:
  // Sets first_start_[i] to the first layer of the longest stage that ends before layer i.
  void find_starts(Costs costs, double bottleneck) {
    first_start_.assign(layers_ + 1, layers_);
    int reached = 0;
    for (int begin = 0; begin < layers_ && reached < layers_; ++begin) {
      const int end = furthest_end(costs, begin, bottleneck);
      for (; reached < end; ++reached) first_start_[reached + 1] = begin;
    }
  }

  void find_ends(Costs costs, double bottleneck) {
    last_end_.assign(stages_ + 1, 0);
    first_end_.assign(stages_ + 1, layers_);
    for (int k = 1; k <= stages_; ++k) {
      const int end = furthest_end(costs, last_end_[k - 1], bottleneck);
      last_end_[k] = std::min(end, layers_ - (stages_ - k));
    }
    for (int k = stages_; k > 0; --k) {
      first_end_[k - 1] = std::max(first_start_[first_end_[k]], k - 1);
    }
  }

  // Finds the best starts of stage k for its ends low..high. They are known to lie in left..right.
  void fill(int k, int low, int high, int left, int right) {
    if (low > high) return;
    const int end = low + (high - low) / 2;
    const int from = std::max(left, first_start_[end]);
    const int to = std::min(right, end - 1);
    double best = std::numeric_limits<double>::infinity();
    int best_start = from;
    for (int start = from; start <= to; ++start) {
      const double cost = before_[end] - before_[start];
      const double squares = least_[start] + cost * cost;
      if (squares < best) best = squares, best_start = start;
    }
    next_[end] = best;
    start_of_last_[k - 1][end - first_end_[k]] = best_start;
    fill(k, low, end - 1, left, best_start);
    fill(k, end + 1, high, best_start, right);
  }

  int layers_, stages_;
  std::vector<int> first_start_;
  std::vector<int> first_end_, last_end_;  // per k: where the first k stages can end
  std::vector<double> before_;             // scaled cost of all layers before this one
  std::vector<double> least_, next_;       // least sums by end, for k - 1 and for k stages
  std::vector<std::vector<int>> start_of_last_;
};

}  // namespace

void check_counts(int layers, int stages) {
  if (stages < 1) {
    throw std::invalid_argument("a network is split into at least 1 stage, not " +
                                std::to_string(stages));
  }
  if (stages > layers) {
    throw std::invalid_argument(
        std::to_string(stages) + " stages need at least as many layers, but the network has " +
        std::to_string(layers) + "; use at most " + std::to_string(layers) + " stages");
  }
}

std::vector<int> balance(std::span<const double> costs, int stages) {
  check_counts(static_cast<int>(costs.size()), stages);
  check_costs(costs);
  const bool silent = std::all_of(costs.begin(), costs.end(), [](double c) { return c == 0; });
  if (silent) return balance(std::vector<double>(costs.size(), 1.0), stages);
  return LeastSquares(costs, stages, best_bottleneck(costs, stages)).solve();
}

std::vector<int> check_split(std::span<const int64_t> given, int layers, int stages) {
  check_counts(layers, stages);
  const std::string wanted = "a split of " + std::to_string(layers) + " layers into " +
                             std::to_string(stages) + " stages needs ";
  if (given.size() != static_cast<size_t>(stages)) {
    throw std::invalid_argument(wanted + std::to_string(stages) + " numbers, not " +
                                std::to_string(given.size()));
  }
  std::vector<int> split;
  int64_t sum = 0;
  for (const int64_t count : given) {
    if (count < 1 || count > layers) {
      throw std::invalid_argument(wanted + "1 to " + std::to_string(layers) +
                                  " layers in each stage, not " + std::to_string(count) +
                                  " in stage " + std::to_string(split.size()));
    }
    sum += count;
    split.push_back(static_cast<int>(count));
  }
  if (sum != layers) {
    throw std::invalid_argument(wanted + "numbers that add up to " + std::to_string(layers) +
                                ", not " + std::to_string(sum));
  }
  return split;
}

}  // namespace penstock
