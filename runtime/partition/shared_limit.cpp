// Stages of one rank share a limit, which couples them however far apart they are: no sweep from
// stage to stage can know what a rank has left. Bytes get a price instead (Lagrange multipliers,
// Everett 1963): the split with the cheapest bytes is a shortest path, and ranks that come out too
// full are made dearer. It also proves: where even the cheapest bytes cost more than all ranks full
// to the limit would, nothing fits. A stage's bytes cost a little more the more there are of them,
// so that of splits equally cheap the evenest is taken.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "runtime/partition/loads.h"

namespace penstock {
namespace {

constexpr int kRounds = 12;            // of prices, for one time limit
constexpr double kCloseEnough = 1e-3;  // of the time, before the last attempt to improve it
constexpr double kEvenness = 1e-3;     // of the price, for a stage that fills its rank
constexpr int64_t kMostCells = int64_t{1} << 21;  // layers x stages

class SharedSearch {
 public:
  SharedSearch(const Loads& loads, double limit) : loads_(loads), limit_(limit) {
    for (int s = 0; s < loads.stages(); ++s) ranks_ = std::max(ranks_, loads.of(s).rank + 1);
  }

  LimitedSplit run(LimitedSplit fastest) {
    const double bound = fastest.bottleneck;
    best_ = std::move(fastest);
    if (limit_ <= 0 || static_cast<int64_t>(loads_.layers()) * loads_.stages() > kMostCells) {
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

  // Looks for a split within the limits of time and bytes; best_ keeps what is better than it.
  Verdict look_within(double time) {
    std::vector<double> price(ranks_, 1.0);
    for (int round = 0; round < kRounds; ++round) {
      Path path = cheapest(time, price);
      // At most so much do bytes cost in any split that fits.
      const double budget = (1 + kEvenness) * limit_ * std::reduce(price.begin(), price.end());
      if (path.cost > budget * (1 + 1e-9)) return Verdict::Impossible;
      const LimitedSplit found = described(loads_, std::move(path.split), limit_);
      keep(found);
      if (found.fits) return Verdict::Found;
      const std::vector<double> bytes = bytes_of_ranks(found.split);
      const int calm = 1 + round / 4;  // smaller steps every few rounds
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
    double cost = kNoLimit;  // infinite: there is none
    std::vector<int> split;
  };
  // Dynamic programming over "stages up to s end before layer e".
  [[nodiscard]] Path cheapest(double time, const std::vector<double>& price) const {
    const int n = loads_.layers();
    std::vector<double> cost(n + 1, kNoLimit);
    cost[0] = 0;
    std::vector<std::vector<int>> begin_of(loads_.stages(), std::vector<int>(n + 1, -1));
    for (int s = 0; s < loads_.stages(); ++s) {
      std::vector<double> next(n + 1, kNoLimit);
      for (int end = s + 1; end <= loads_.last_end(s); ++end) {
        for (int begin = end - 1; begin >= s && loads_.time(s, begin, end) <= time; --begin) {
          if (cost[begin] == kNoLimit) continue;
          const double bytes = loads_.bytes(s, begin, end);
          const double all = cost[begin] + price[loads_.of(s).rank] *
                                               (bytes + kEvenness * bytes * (bytes / limit_));
          if (all < next[end]) next[end] = all, begin_of[s][end] = begin;
        }
      }
      cost = std::move(next);
    }
    Path path{cost[n], std::vector<int>(loads_.stages())};
    if (path.cost == kNoLimit) return path;
    for (int s = loads_.stages() - 1, end = n; s >= 0; --s) {
      path.split[s] = end - begin_of[s][end];
      end -= path.split[s];
    }
    return path;
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
  int ranks_ = 0;
  LimitedSplit best_;
};

}  // namespace

LimitedSplit search_shared(const Loads& loads, const LimitedSplit& fastest, double limit) {
  return SharedSearch(loads, limit).run(fastest);
}

}  // namespace penstock
