// Splits under a memory limit, against trying all of them.
#include "runtime/planning/partition/limited.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "runtime/planning/partition/partition.h"
#include "tests/support/processor_time.h"

namespace penstock {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Numbers = std::vector<double>;

constexpr double kNoLimit = std::numeric_limits<double>::infinity();

LayerLoads equal_layers(int n) {
  return {.time = Numbers(n, 2),
          .recompute = Numbers(n, 1),
          .fixed = Numbers(n, 3),
          .tape = Numbers(n, 5),
          .input = Numbers(n, 1)};
}

std::vector<StageLoads> one_per_rank(int stages) {
  std::vector<StageLoads> loads(stages);
  for (int s = 0; s < stages; ++s) loads[s].rank = s;
  return loads;
}

// The costs on each kind of device.
using Kinds = std::vector<LayerLoads>;

// What a split takes, added up layer by layer.
struct Taken {
  double bottleneck = 0;
  Numbers bytes;  // by rank
  [[nodiscard]] double fullest() const { return *std::max_element(bytes.begin(), bytes.end()); }
};

Taken taken(const Kinds& kinds, const std::vector<StageLoads>& stages,
            const std::vector<int>& split) {
  Taken result{.bytes = Numbers(stages.size(), 0)};
  int begin = 0;
  for (size_t s = 0; s < stages.size(); ++s) {
    const StageLoads& stage = stages[s];
    const LayerLoads& layers = kinds[stage.kind];
    double time = 0;
    double bytes = stage.stashes * layers.input[begin] + stage.extra;
    for (int l = begin; l < begin + split[s]; ++l) {
      time += stage.pace * (layers.time[l] + (stage.recomputes ? layers.recompute[l] : 0));
      bytes += layers.fixed[l] + stage.tapes * layers.tape[l] + stage.inputs * layers.input[l];
    }
    result.bottleneck = std::max(result.bottleneck, time);
    result.bytes[stage.rank] += stage.weight * bytes;
    begin += split[s];
  }
  return result;
}

struct Best {
  double bottleneck = kNoLimit;  // of those that fit
  double fullest = kNoLimit;     // of all
};

void try_all(const Kinds& kinds, const std::vector<StageLoads>& stages, double limit,
             std::vector<int>& split, int left, Best& best) {
  if (split.size() + 1 == stages.size()) {
    split.push_back(left);
    const Taken all = taken(kinds, stages, split);
    split.pop_back();
    best.fullest = std::min(best.fullest, all.fullest());
    if (all.fullest() <= limit) best.bottleneck = std::min(best.bottleneck, all.bottleneck);
    return;
  }
  const int later = static_cast<int>(stages.size() - split.size()) - 1;
  for (int take = 1; take <= left - later; ++take) {
    split.push_back(take);
    try_all(kinds, stages, limit, split, left - take, best);
    split.pop_back();
  }
}

Best best_of_all(const Kinds& kinds, const std::vector<StageLoads>& stages, double limit) {
  Best best;
  std::vector<int> split;
  try_all(kinds, stages, limit, split, static_cast<int>(kinds[0].time.size()), best);
  return best;
}

void expect_well_formed(const LimitedSplit& found, const Kinds& kinds,
                        const std::vector<StageLoads>& stages, double limit) {
  ASSERT_EQ(found.split.size(), stages.size());
  for (const int count : found.split) ASSERT_GE(count, 1);
  ASSERT_EQ(std::accumulate(found.split.begin(), found.split.end(), 0),
            static_cast<int>(kinds[0].time.size()));
  const Taken all = taken(kinds, stages, found.split);
  ASSERT_EQ(found.bottleneck, all.bottleneck);
  ASSERT_EQ(found.fullest_bytes, all.fullest());
  ASSERT_EQ(all.bytes[found.fullest_rank], all.fullest());
  ASSERT_EQ(found.fits, all.fullest() <= limit);
}

// That no split of all is better: of those that fit or, where none does, by the fullest rank.
void expect_the_best(const LimitedSplit& found, const Kinds& kinds,
                     const std::vector<StageLoads>& stages, double limit) {
  const Best best = best_of_all(kinds, stages, limit);
  ASSERT_NO_FATAL_FAILURE(expect_well_formed(found, kinds, stages, limit));
  ASSERT_TRUE(found.proved);
  ASSERT_EQ(found.fits, best.fullest <= limit);
  if (found.fits) {
    ASSERT_EQ(found.bottleneck, best.bottleneck);
  } else {
    ASSERT_EQ(found.fullest_bytes, best.fullest);
  }
}

class Draw {
 public:
  explicit Draw(unsigned seed) : random_(seed) {}
  int number(int low, int high) { return std::uniform_int_distribution(low, high)(random_); }
  Numbers numbers(int n, int high) {
    Numbers result(n);
    for (double& value : result) value = number(0, high);
    return result;
  }
  LayerLoads layers(int n) {
    return {numbers(n, 9), numbers(n, 4), numbers(n, 20), numbers(n, 6), numbers(n, 30)};
  }
  // Small whole numbers, so that sums are exact in any order.
  std::vector<StageLoads> stages(int ranks, int chunks) {
    std::vector<StageLoads> loads;
    for (int s = 0; s < ranks * chunks; ++s) {
      loads.push_back({.rank = s % ranks,
                       .recomputes = number(0, 1) == 1,
                       .tapes = 1.0 * number(0, 3),
                       .inputs = 1.0 * number(0, 1),
                       .stashes = 1.0 * number(0, 4),
                       .extra = 1.0 * number(0, 5)});
    }
    return loads;
  }

 private:
  std::mt19937 random_;
};

TEST(Limited, IsAsGoodAsTryingAllSplits) {
  Draw draw(1);
  int fitted = 0;
  int refused = 0;
  for (int trial = 0; trial < 3000; ++trial) {
    const int n = draw.number(1, 10);
    const int k = draw.number(1, std::min(n, 5));
    const LayerLoads layers = draw.layers(n);
    const std::vector<StageLoads> stages = draw.stages(k, 1);
    const double limit = draw.number(20, 300);
    SCOPED_TRACE(::testing::Message() << "trial " << trial << ": " << n << " layers, " << k);
    const LimitedSplit found = balance_within(layers, stages, limit);
    ASSERT_NO_FATAL_FAILURE(expect_the_best(found, {layers}, stages, limit));
    ++(found.fits ? fitted : refused);
  }
  EXPECT_GT(fitted, 500);
  EXPECT_GT(refused, 500);
}

// Stages on devices of their own speed, with costs that no factor turns into one another's, and
// with their own memory.
TEST(Limited, OfUnlikeDevicesIsAsGoodAsTryingAllSplits) {
  Draw draw(5);
  int fitted = 0;
  int refused = 0;
  int moved = 0;
  for (int trial = 0; trial < 3000; ++trial) {
    const int n = draw.number(1, 8);
    const int k = draw.number(1, std::min(n, 4));
    Kinds kinds(draw.number(2, 3));
    for (LayerLoads& layers : kinds) layers = draw.layers(n);
    std::vector<StageLoads> stages = draw.stages(k, 1);
    for (StageLoads& stage : stages) {
      stage.kind = draw.number(0, static_cast<int>(kinds.size()) - 1);
      stage.weight = 0.5 * draw.number(0, 4);
      stage.pace = 0.5 * draw.number(1, 4);
    }
    const double limit = draw.number(20, 300);
    SCOPED_TRACE(::testing::Message() << "trial " << trial << ": " << n << " layers, " << k);
    const LimitedSplit found = balance_within(kinds, stages, limit);
    ASSERT_NO_FATAL_FAILURE(expect_the_best(found, kinds, stages, limit));
    ++(found.fits ? fitted : refused);
    std::vector<StageLoads> like = stages;
    for (StageLoads& stage : like) stage.kind = 0;
    moved += balance_within(kinds[0], like, limit).split != found.split ? 1 : 0;
  }
  EXPECT_GT(fitted, 500);
  EXPECT_GT(refused, 500);
  EXPECT_GT(moved, 500);
}

// Three devices, the second half as fast: it gets half as many layers.
TEST(Limited, ASlowDeviceGetsFewerLayers) {
  std::vector<StageLoads> stages = one_per_rank(3);
  stages[1].kind = 1;
  Kinds kinds(2, equal_layers(10));
  kinds[1].time.assign(10, 4);
  EXPECT_THAT(balance_within(kinds, stages, kNoLimit).split, ElementsAre(4, 2, 4));
}

// The last two stages are on one rank, which has half of its time for each.
TEST(Limited, ARankOfTwoStagesGetsHalfAsManyLayersForEach) {
  std::vector<StageLoads> stages = one_per_rank(3);
  stages[2].rank = 1;
  for (StageLoads& stage : stages) stage.pace = stage.rank == 0 ? 2.0 / 3 : 4.0 / 3;
  EXPECT_THAT(balance_within(equal_layers(12), stages, kNoLimit).split, ElementsAre(6, 3, 3));
}

// The second rank has half of the first one's memory.
TEST(Limited, ARankWithLessMemoryGetsFewerLayers) {
  std::vector<StageLoads> stages = one_per_rank(2);  // 8 bytes a layer
  stages[1].weight = 2;
  const LimitedSplit found = balance_within(equal_layers(6), stages, 32);
  EXPECT_TRUE(found.fits);
  EXPECT_THAT(found.split, ElementsAre(4, 2));
}

TEST(Limited, OfChunkedRanksProvesNothingThatIsNotSo) {
  Draw draw(2);
  int proved = 0;
  int as_good = 0;
  constexpr int kTrials = 2000;
  for (int trial = 0; trial < kTrials; ++trial) {
    const int ranks = draw.number(1, 3);
    const int chunks = draw.number(2, 3);
    const int n = ranks * chunks + draw.number(0, 3);
    const LayerLoads layers = draw.layers(n);
    const std::vector<StageLoads> stages = draw.stages(ranks, chunks);
    const double limit = draw.number(40, 600);
    SCOPED_TRACE(::testing::Message()
                 << "trial " << trial << ": " << n << " layers, " << ranks << " x " << chunks);
    const LimitedSplit found = balance_within(layers, stages, limit);
    const Best best = best_of_all({layers}, stages, limit);
    ASSERT_NO_FATAL_FAILURE(expect_well_formed(found, {layers}, stages, limit));
    const bool same = found.fits ? found.bottleneck == best.bottleneck : best.fullest > limit;
    ASSERT_TRUE(same || !found.proved);
    proved += found.proved ? 1 : 0;
    as_good += same ? 1 : 0;
  }
  EXPECT_GT(proved, kTrials * 9 / 10);
  EXPECT_GT(as_good, kTrials * 9 / 10);
  RecordProperty("proved", proved);
  RecordProperty("as_good", as_good);
}

TEST(Limited, WithoutALimitIsBalanced) {
  LayerLoads layers = equal_layers(8);
  layers.time = {1, 1, 1, 20, 1, 1, 1, 1};
  layers.recompute = Numbers(8, 0);
  const LimitedSplit found = balance_within(layers, one_per_rank(4), kNoLimit);
  EXPECT_EQ(found.split, balance(layers.time, 4));
  EXPECT_EQ(found.bottleneck, 20);
  EXPECT_TRUE(found.fits);
}

// What a heuristic by cumulative cost gets wrong.
TEST(Limited, EqualLayersMakeEqualStages) {
  EXPECT_THAT(balance_within(equal_layers(16), one_per_rank(4), kNoLimit).split,
              ElementsAre(4, 4, 4, 4));
  EXPECT_EQ(balance_within(equal_layers(16), one_per_rank(8), kNoLimit).split,
            std::vector<int>(8, 2));
  EXPECT_EQ(balance_within(equal_layers(48), one_per_rank(8), kNoLimit).split,
            std::vector<int>(8, 6));
}

TEST(Limited, AStageThatDoesNotRecomputeTakesMoreLayers) {
  std::vector<StageLoads> stages = one_per_rank(2);
  stages[0].recomputes = true;  // 3 a layer against 2
  const LimitedSplit found = balance_within(equal_layers(10), stages, kNoLimit);
  EXPECT_THAT(found.split, ElementsAre(4, 6));
  EXPECT_EQ(found.bottleneck, 12);
}

TEST(Limited, FirstStagesOfOneFOneBGetFewerLayersWhereMemoryIsShort) {
  std::vector<StageLoads> stages = one_per_rank(4);
  for (int s = 0; s < 4; ++s) stages[s].tapes = 4 - s;
  const LayerLoads layers = equal_layers(16);  // 3 + tapes x 5 bytes each
  EXPECT_THAT(balance_within(layers, stages, 92).split, ElementsAre(4, 4, 4, 4));
  const LimitedSplit tight = balance_within(layers, stages, 69);
  EXPECT_TRUE(tight.fits);
  EXPECT_EQ(tight.split[0], 3);
  EXPECT_EQ(tight.bottleneck, 5 * 2);
}

TEST(Limited, SaysHowMuchIsMissingAndWhere) {
  std::vector<StageLoads> stages = one_per_rank(2);
  stages[1].extra = 1000;
  const LimitedSplit found = balance_within(equal_layers(4), stages, 50);
  EXPECT_FALSE(found.fits);
  EXPECT_TRUE(found.proved);
  EXPECT_EQ(found.fullest_rank, 1);
  EXPECT_EQ(found.fullest_bytes, 1008);  // one layer is the least it can hold
}

TEST(Limited, ChunksOfARankShareItsLimit) {
  std::vector<StageLoads> stages(4);
  for (int s = 0; s < 4; ++s) stages[s] = {.rank = s % 2, .tapes = s < 2 ? 3.0 : 1.0};
  const LayerLoads layers = equal_layers(8);  // 18 bytes in chunk 0, 8 in chunk 1
  const LimitedSplit even = balance_within(layers, stages, 2 * 18 + 2 * 8);
  EXPECT_THAT(even.split, ElementsAre(2, 2, 2, 2));
  EXPECT_TRUE(even.proved);
  const LimitedSplit tight = balance_within(layers, stages, 18 + 3 * 8);
  EXPECT_TRUE(tight.fits);
  EXPECT_THAT(tight.split, ElementsAre(1, 1, 3, 3));
}

TEST(Limited, ThousandsOfLayersAndStages) {
  Draw draw(3);
  LayerLoads layers = draw.layers(10000);
  layers.input.assign(10000, 2);
  std::vector<StageLoads> stages = one_per_rank(1024);
  for (int s = 0; s < 1024; ++s) {
    stages[s].tapes = 1 + (1024 - s) / 256;
    stages[s].recomputes = s % 3 != 0;
  }
  const LimitedSplit free = balance_within(layers, stages, kNoLimit);
  const LimitedSplit tight = balance_within(layers, stages, 0.9 * free.fullest_bytes);
  EXPECT_TRUE(tight.fits);
  EXPECT_GE(tight.bottleneck, free.bottleneck);
}

// All pairs of beginnings and ends, price by price, would be 120,000 million.
TEST(Limited, ThousandsOfLayersOnRanksThatHoldSeveralStages) {
  Draw draw(4);
  LayerLoads layers = draw.layers(10000);
  layers.input.assign(10000, 2);
  std::vector<StageLoads> stages(200);
  for (int s = 0; s < 200; ++s) {
    stages[s] = {.rank = s % 100, .recomputes = s % 3 != 0, .tapes = s < 100 ? 5.0 : 1.0};
  }
  const LimitedSplit free = balance_within(layers, stages, kNoLimit);
  const double start = processor_seconds();
  const LimitedSplit tight = balance_within(layers, stages, 0.9 * free.fullest_bytes);
  const LimitedSplit impossible = balance_within(layers, stages, 0.3 * free.fullest_bytes);
  EXPECT_LT(processor_seconds() - start, 30);
  EXPECT_TRUE(tight.fits);
  EXPECT_GE(tight.bottleneck, free.bottleneck);
  EXPECT_FALSE(impossible.fits);
  EXPECT_TRUE(impossible.proved);
}

TEST(Limited, RefusesWhatMakesNoSense) {
  const auto message = [](auto change) -> std::string {
    LayerLoads layers = equal_layers(4);
    std::vector<StageLoads> stages = one_per_rank(2);
    double limit = 100;
    change(layers, stages, limit);
    try {
      (void)balance_within(layers, stages, limit);
    } catch (const std::invalid_argument& error) {
      return error.what();
    }
    return "";
  };
  using L = LayerLoads;
  using S = std::vector<StageLoads>;
  EXPECT_EQ(message([](L&, S&, double&) {}), "");
  EXPECT_THAT(message([](L&, S& s, double&) { s.resize(5); }), HasSubstr("5 stages"));
  EXPECT_THAT(message([](L&, S& s, double&) { s.clear(); }), HasSubstr("not 0"));
  EXPECT_THAT(message([](L& l, S&, double&) { l.tape.pop_back(); }), HasSubstr("3 values"));
  EXPECT_THAT(message([](L& l, S&, double&) { l.fixed[2] = -1; }), HasSubstr("of layer 2"));
  EXPECT_THAT(message([](L& l, S&, double&) { l.time[1] = std::nan(""); }), HasSubstr("layer 1"));
  EXPECT_THAT(message([](L&, S& s, double&) { s[1].stashes = -1; }), HasSubstr("negative"));
  EXPECT_THAT(message([](L&, S& s, double&) { s[1].weight = -1; }), HasSubstr("negative"));
  EXPECT_THAT(message([](L&, S& s, double&) { s[1].kind = 1; }), HasSubstr("not known"));
  EXPECT_THAT(message([](L&, S&, double& limit) { limit = -5; }), HasSubstr("limit of -5"));
}

}  // namespace
}  // namespace penstock
