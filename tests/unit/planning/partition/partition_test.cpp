// The splits are optimal: against brute force, on the cases where GPipe's own heuristic is not,
// and at sizes no brute force reaches.
#include "runtime/planning/partition/partition.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <random>
#include <stdexcept>
#include <string>

namespace penstock {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Split = std::vector<int>;

std::vector<double> stage_costs(const std::vector<double>& costs, const Split& split) {
  std::vector<double> result;
  auto layer = costs.begin();
  for (const int count : split) {
    result.push_back(std::accumulate(layer, layer + count, 0.0));
    layer += count;
  }
  return result;
}

double bottleneck(const std::vector<double>& costs, const Split& split) {
  const auto stages = stage_costs(costs, split);
  return *std::max_element(stages.begin(), stages.end());
}

double squares(const std::vector<double>& costs, const Split& split) {
  const auto stages = stage_costs(costs, split);
  return std::inner_product(stages.begin(), stages.end(), stages.begin(), 0.0);
}

void expect_valid(const Split& split, size_t layers, int stages) {
  ASSERT_EQ(split.size(), static_cast<size_t>(stages));
  EXPECT_EQ(std::accumulate(split.begin(), split.end(), 0), static_cast<int>(layers));
  EXPECT_GE(*std::min_element(split.begin(), split.end()), 1);
}

void for_each_split(int layers, int stages, const std::function<void(const Split&)>& visit) {
  Split split;
  const std::function<void(int)> extend = [&](int left) {
    const int open = stages - static_cast<int>(split.size());
    if (open == 0) return left == 0 ? visit(split) : void();
    for (int count = 1; count <= left - (open - 1); ++count) {
      split.push_back(count);
      extend(left - count);
      split.pop_back();
    }
  };
  extend(layers);
}

// What the original implementation does: layer i goes to cell floor(share of the costs up to and
// including i, times K).
Split lingvo_split(const std::vector<double>& costs, int stages) {
  const double total = std::accumulate(costs.begin(), costs.end(), 0.0);
  Split split(stages, 0);
  double sum = 0;
  for (const double cost : costs) {
    sum += cost;
    ++split[std::min(static_cast<int>(std::floor(sum / total * stages)), stages - 1)];
  }
  return split;
}

// A whole number in 0 .. below-1; the same on every machine, unlike std::uniform_int_distribution.
int whole(std::mt19937& random, int below) {
  return static_cast<int>(random() % static_cast<uint32_t>(below));
}

std::string message_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "";
}

TEST(Balance, EqualLayersAreSplitEqually) {
  const std::vector<double> sixteen(16, 3.5);
  EXPECT_THAT(lingvo_split(sixteen, 4), ElementsAre(3, 4, 4, 5));
  EXPECT_THAT(balance(sixteen, 4), ElementsAre(4, 4, 4, 4));
  EXPECT_EQ(balance(sixteen, 8), Split(8, 2));
  EXPECT_EQ(balance(std::vector<double>(48, 1.0), 8), Split(8, 6));
}

TEST(Balance, AHeavyLayerLeavesNoStageEmpty) {
  const std::vector<double> costs = {1, 1, 1, 20, 1, 1, 1, 1};
  EXPECT_THAT(lingvo_split(costs, 4), ElementsAre(3, 0, 0, 5));
  EXPECT_THAT(balance(costs, 4), ElementsAre(3, 1, 2, 2));
}

TEST(Balance, AmoebaNetIsAsGoodAsCutsAllow) {
  // Shares of the multiply-adds of AmoebaNet-D (18, 256) at 224 x 224: stem, two reductions, three
  // runs of six cells with a reduction between them, classifier.
  std::vector<double> costs = {0.1, 2.1, 3.8};
  for (const double first : {3.5, 3.7, 3.7}) {
    costs.insert(costs.end(), {first, 4.35, 4.69, 4.69, 4.69, 4.69});
    costs.push_back(6.9);
  }
  costs.back() = 0.03;
  const double total = std::accumulate(costs.begin(), costs.end(), 0.0);
  const auto imbalance = [&](const Split& split) {
    return bottleneck(costs, split) * static_cast<double>(split.size()) / total;
  };
  EXPECT_NEAR(imbalance(balance(costs, 2)), 1.045, 0.01);
  EXPECT_NEAR(imbalance(balance(costs, 4)), 1.072, 0.01);
  EXPECT_NEAR(imbalance(balance(costs, 8)), 1.125, 0.01);
  EXPECT_NEAR(imbalance(lingvo_split(costs, 8)), 1.192, 0.01);
}

TEST(Balance, TiesFavourEvenStagesThenLightFirstStages) {
  EXPECT_THAT(balance(std::vector<double>(10, 1.0), 4), ElementsAre(2, 2, 3, 3));
  // Filling to the brim would give 1, 5, 1, 1.
  EXPECT_THAT(balance(std::vector<double>{5, 1, 1, 1, 1, 1, 1, 1}, 4), ElementsAre(1, 2, 2, 3));
}

TEST(Balance, CostsThatSayNothingCountAsEqual) {
  EXPECT_THAT(balance(std::vector<double>(6, 0.0), 3), ElementsAre(2, 2, 2));
  EXPECT_THAT(balance(std::vector<double>{-0.0, 0.0}, 2), ElementsAre(1, 1));
}

TEST(Balance, EdgeSizes) {
  EXPECT_THAT(balance(std::vector<double>{7}, 1), ElementsAre(1));
  EXPECT_THAT(balance(std::vector<double>{7, 8, 9}, 1), ElementsAre(3));
  EXPECT_THAT(balance(std::vector<double>{7, 0, 9}, 3), ElementsAre(1, 1, 1));
}

TEST(Balance, ExtremeMagnitudes) {
  EXPECT_THAT(balance(std::vector<double>{1e300, 1e300, 1e300, 1e300}, 2), ElementsAre(2, 2));
  EXPECT_THAT(balance(std::vector<double>{5e-324, 5e-324, 5e-324, 5e-324}, 2), ElementsAre(2, 2));
  EXPECT_THAT(balance(std::vector<double>{1e-300, 1e300, 1e-300, 1e-300}, 3), ElementsAre(1, 1, 2));
}

TEST(Balance, IsTheBruteForceOptimumForWholeCosts) {
  std::mt19937 random(1);
  for (int round = 0; round < 300; ++round) {
    const int layers = 1 + whole(random, 12);
    std::vector<double> costs(layers);
    for (double& cost : costs) cost = whole(random, round % 3 == 0 ? 3 : 50);
    for (int stages = 1; stages <= layers; ++stages) {
      double best = std::numeric_limits<double>::infinity();
      double least_squares = best;
      for_each_split(layers, stages, [&](const Split& split) {
        const double cost = bottleneck(costs, split);
        if (cost > best) return;
        if (cost < best) least_squares = std::numeric_limits<double>::infinity();
        best = cost;
        least_squares = std::min(least_squares, squares(costs, split));
      });
      const Split split = balance(costs, stages);
      expect_valid(split, costs.size(), stages);
      EXPECT_EQ(bottleneck(costs, split), best);
      EXPECT_EQ(squares(costs, split), least_squares);
    }
  }
}

TEST(Balance, TheBottleneckIsExactForAnyDoubles) {
  std::mt19937 random(2);
  std::uniform_real_distribution<double> exponent(-30, 1);
  for (int round = 0; round < 300; ++round) {
    const int layers = 1 + whole(random, 11);
    std::vector<double> costs(layers);
    for (double& cost : costs) cost = std::exp2(exponent(random)) * 0.1;
    for (int stages = 1; stages <= layers; ++stages) {
      double best = std::numeric_limits<double>::infinity();
      for_each_split(layers, stages,
                     [&](const Split& split) { best = std::min(best, bottleneck(costs, split)); });
      const Split split = balance(costs, stages);
      expect_valid(split, costs.size(), stages);
      EXPECT_EQ(bottleneck(costs, split), best);
    }
  }
}

// Small enough for a table, too large for enumeration: the textbook dynamic programme.
TEST(Balance, AgreesWithDynamicProgrammingAtMiddleSizes) {
  std::mt19937 random(3);
  for (const int stages : {2, 7, 31, 64}) {
    std::vector<double> costs(120);
    for (double& cost : costs) cost = 1 + whole(random, 1000);
    const int n = static_cast<int>(costs.size());
    std::vector<double> best(n + 1, std::numeric_limits<double>::infinity());
    best[0] = 0;
    for (int k = 1; k <= stages; ++k) {
      for (int end = n; end >= 0; --end) {
        double least = std::numeric_limits<double>::infinity();
        double sum = 0;
        for (int start = end - 1; start >= 0; --start) {
          sum += costs[start];
          least = std::min(least, std::max(best[start], sum));
        }
        best[end] = least;
      }
    }
    EXPECT_EQ(bottleneck(costs, balance(costs, stages)), best[n]);
  }
}

TEST(Balance, ManyLayersOverManyStages) {
  std::mt19937 random(4);
  std::vector<double> costs(10'000);
  for (double& cost : costs) cost = 1 + whole(random, 9);
  expect_valid(balance(costs, 1024), costs.size(), 1024);
  costs[5000] = 1e6;  // one layer dominates: every split that isolates it is as good
  const Split split = balance(costs, 1024);
  expect_valid(split, costs.size(), 1024);
  EXPECT_EQ(bottleneck(costs, split), 1e6);
}

TEST(Balance, RefusesWhatCannotBeSplit) {
  const std::vector<double> four(4, 1.0);
  EXPECT_THAT(
      message_of([&] { (void)balance(four, 5); }),
      HasSubstr("5 stages need at least as many layers, but the network has 4; use at most 4"));
  EXPECT_THAT(message_of([&] { (void)balance(four, 0); }), HasSubstr("at least 1 stage, not 0"));
  EXPECT_THAT(message_of([&] { (void)balance({}, 1); }), HasSubstr("the network has 0"));
}

TEST(Balance, RefusesCostsThatAreNone) {
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_THAT(message_of([] {
                (void)balance(std::vector<double>{1, -2, 3}, 2);
              }),
              HasSubstr("layer 1 is -2"));
  EXPECT_THAT(message_of([] {
                (void)balance(std::vector<double>{std::nan(""), 3}, 2);
              }),
              HasSubstr("layer 0 is"));
  EXPECT_THAT(message_of([&] {
                (void)balance(std::vector<double>{3, infinity}, 2);
              }),
              HasSubstr("layer 1 is inf"));
  EXPECT_THAT(message_of([] {
                (void)balance(std::vector<double>{1e308, 1e308}, 2);
              }),
              HasSubstr("add up to more"));
}

TEST(CheckSplit, AcceptsOneCountPerStage) {
  EXPECT_THAT(check_split(std::vector<int64_t>{3, 1, 2}, 6, 3), ElementsAre(3, 1, 2));
}

TEST(CheckSplit, SaysWhatIsWrong) {
  const auto message = [](const std::vector<int64_t>& given, int layers, int stages) {
    return message_of([&] { (void)check_split(given, layers, stages); });
  };
  EXPECT_EQ(message({3, 3}, 6, 3), "a split of 6 layers into 3 stages needs 3 numbers, not 2");
  EXPECT_EQ(message({3, 1, 3}, 6, 3),
            "a split of 6 layers into 3 stages needs numbers that add up to 6, not 7");
  EXPECT_EQ(
      message({3, 0, 3}, 6, 3),
      "a split of 6 layers into 3 stages needs 1 to 6 layers in each stage, not 0 in stage 1");
  EXPECT_THAT(message({int64_t{1} << 40, 1, 1}, 6, 3), HasSubstr("not 1099511627776 in stage 0"));
  EXPECT_THAT(message({1, 1, 1}, 2, 3), HasSubstr("use at most 2 stages"));
}

}  // namespace
}  // namespace penstock
