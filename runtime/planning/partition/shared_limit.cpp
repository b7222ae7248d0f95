// Stages of one rank share a limit, which couples them however far apart they are: no sweep from
// stage to stage can know what a rank has left. Bytes get a price instead (Lagrange multipliers,
// Everett 1963): the split with the cheapest bytes is a shortest path, and ranks that come out too
// full are made dearer. It also proves: where even the cheapest bytes cost more than all ranks full
// to the limit would, nothing fits. A stage's bytes cost a little more the more there are of them,
// so that of splits equally cheap the evenest is taken.
//
// A stage's cost is a convex function of a difference, what is held before its end less what is
// held before its beginning. Where both grow from layer to layer, the best beginning never moves
// back as the end moves on, and a search that halves the ends finds all of them in
// O(layers log layers) a stage; where inputs grow faster than the rest, all beginnings are tried.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "runtime/planning/partition/loads.h"

namespace penstock {
namespace {

constexpr int kRounds = 12;  // how often prices are changed for one time limit
// Bisecting ends when the bounds of the time differ by this share.
constexpr double kCloseEnough = 1e-3;
constexpr double kEvenness = 1e-3;  // a stage with as many bytes as the limit costs this share more
// The search looks at no more than this many pairs of a beginning and an end in all, which takes a
// second or two.
constexpr int64_t kMostPairs = 400'000'000;
// No search is begun unless the pairs suffice for this many paths.
constexpr int64_t kLeastPaths = 8;

class SharedSearch {
 public:
  SharedSearch(const Loads& loads, double limit)
      : loads_(loads), limit_(limit), monotone_(loads.shrink_from_the_left()) {
    for (int s = 0; s < loads.stages(); ++s) ranks_ = std::max(ranks_, loads.of(s).rank + 1);
    const auto n = static_cast<double>(loads.layers());
    const double pairs_a_layer = monotone_ ? std::log2(n) + 1 : n / 2;
    const double pairs = n * loads.stages() * pairs_a_layer;
    too_large_ = pairs * kLeastPaths > static_cast<double>(kMostPairs);
  }

  LimitedSplit run(LimitedSplit fastest) {
    const double bound = fastest.bottleneck;
    best_ = std::move(fastest);
    if (limit_ <= 0 || too_large_) {
      best_.proved = false;
      return best_;
    }
    Verdict verdict = look_within(kNoLimit);
    if (verdict == Verdict::Found) {
      double low = bound;
      while (best_.bottleneck - low > kCloseEnough * best_.bottleneck) {
        const double middle = low + (best_.bottleneck - low) / 2;
        if (look_within(middle) != Verdict::Found) low = middle;
      }
      do {
        verdict = best_.bottleneck <= bound ? Verdict::Impossible
                                            : look_within(std::nextafter(best_.bottleneck, 0.0));
      } while (verdict == Verdict::Found);
    }
    best_.proved = verdict == Verdict::Impossible;
    return best_;
  }

 private:
  enum class Verdict { Found, Impossible, Unknown };

  // Looks for a split within the limits of time and bytes. If a split that it finds is better than
  // best_, it replaces best_.
  Verdict look_within(double time) {
    std::vector<double> price(ranks_, 1.0);
    for (int round = 0; round < kRounds && pairs_ < kMostPairs; ++round) {
      Path path = cheapest(time, price);
      // The bytes of a split that fits cost at most `budget` at these prices. If the cheapest path
      // costs more, no split fits.
      const double budget = (1 + kEvenness) * limit_ * std::reduce(price.begin(), price.end());
      if (path.cost > budget * (1 + 1e-9)) return Verdict::Impossible;
      const LimitedSplit found = described(loads_, std::move(path.split), limit_);
      keep(found);
      if (found.fits) return Verdict::Found;
      const std::vector<double> bytes = bytes_of_ranks(found.split);
      const int calm = 1 + round / 4;  // every four rounds prices change in smaller steps
      for (int r = 0; r < ranks_; ++r) {
        if (bytes[r] > 0) price[r] *= std::pow(bytes[r] / limit_, 2.0 / calm);
      }
    }
    return Verdict::Unknown;
  }

  void keep(const LimitedSplit& found) {
    const bool better = found.fits ? !best_.fits || found.bottleneck < best_.bottleneck
                                   : !best_.fits && found.fullest_bytes < best_.fullest_bytes;
    if (better) best_ = found;
  }

  struct Path {
    double cost = kNoLimit;  // infinite if there is no path
    std::vector<int> split;
  };
  // Returns the split whose bytes cost least at these prices, among those within the time. It uses
  // dynamic programming over "stages up to s end before layer e".
  [[nodiscard]] Path cheapest(double time, const std::vector<double>& price) {
    const int n = loads_.layers();
    std::vector<double> cost(n + 1, kNoLimit);
    cost[0] = 0;
    std::vector<std::vector<int>> begin_of(loads_.stages(), std::vector<int>(n + 1, -1));
    for (int s = 0; s < loads_.stages(); ++s) {
      Row row{.stage = s,
              .time = time,
              .price = price[loads_.of(s).rank],
              .before = cost,
              .cost = std::vector<double>(n + 1, kNoLimit),
              .begin = begin_of[s]};
      if (monotone_) {
        find_by_halves(row, s + 1, loads_.last_end(s), s, n);
      } else {
        for (int end = s + 1; end <= loads_.last_end(s); ++end) find_begin(row, end, s, n);
      }
      cost = std::move(row.cost);
    }
    Path path{cost[n], std::vector<int>(loads_.stages())};
    if (path.cost == kNoLimit) return path;
    for (int s = loads_.stages() - 1, end = n; s >= 0; --s) {
      path.split[s] = end - begin_of[s][end];
      end -= path.split[s];
    }
    return path;
  }

  // A row is about one stage. For each layer e, `cost` is the least that the stages up to this one
  // cost if it ends before e, and `begin` is where it then begins, or -1 if it cannot end there.
  struct Row {
    int stage;
    double time, price;
    const std::vector<double>& before;  // `cost` of the stage before
    std::vector<double> cost;
    std::vector<int>& begin;
  };

  // Finds the cheapest beginning, from `first` to `last`, of the stage that ends before layer
  // `end`. If several are equally cheap, the last one is taken.
  void find_begin(Row& row, int end, int first, int last) {
    double& best = row.cost[end];
    int begin = std::min(last, end - 1);
    for (; begin >= first; --begin) {
      if (loads_.time(row.stage, begin, end) > row.time) break;
      if (row.before[begin] == kNoLimit) continue;
      const double bytes = loads_.bytes(row.stage, begin, end);
      const double all =
          row.before[begin] + row.price * (bytes + kEvenness * bytes * (bytes / limit_));
      if (all < best) best = all, row.begin[end] = begin;
    }
    pairs_ += std::max(0, std::min(last, end - 1) - begin) + 1;
  }

  // Finds the cheapest beginnings for all ends in [low, high]. These beginnings lie in [first,
  // last]. A later end has a later beginning, or the same.
  void find_by_halves(Row& row, int low, int high, int first, int last) {
    if (low > high) return;
    const int end = low + (high - low) / 2;
    find_begin(row, end, first, last);
    const int begin = row.begin[end];
    find_by_halves(row, low, end - 1, first, begin < 0 ? last : begin);
    find_by_halves(row, end + 1, high, begin < 0 ? first : begin, last);
  }

  [[nodiscard]] std::vector<double> bytes_of_ranks(const std::vector<int>& split) const {
    std::vector<double> bytes(ranks_, 0.0);
    int begin = 0;
    for (int s = 0; s < loads_.stages(); ++s) {
      bytes[loads_.of(s).rank] += loads_.bytes(s, begin, begin + split[s]);
      begin += split[s];
    }
    return bytes;
  }

  const Loads& loads_;
  double limit_;
  bool monotone_;
  bool too_large_ = false;
  int ranks_ = 0;
  int64_t pairs_ = 0;  // pairs looked at so far
  LimitedSplit best_;
};

}  // namespace

LimitedSplit search_shared(const Loads& loads, const LimitedSplit& fastest, double limit) {
  return SharedSearch(loads, limit).run(fastest);
}

}  // namespace penstock
