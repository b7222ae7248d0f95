// The shuffle: every sample once an epoch, in an order that depends on (seed, epoch) only.
#include "runtime/data/datasets/sampler.h"

#include <algorithm>
#include <map>
#include <vector>

#include "fixtures.h"

namespace penstock {
namespace {

std::vector<int64_t> order(int64_t n, uint64_t seed, int64_t epoch) {
  std::vector<int64_t> result;
  for (int64_t i = 0; i < n; ++i) result.push_back(shuffled(i, n, seed, epoch));
  return result;
}

TEST(Sampler, IsABijectionOfEverySmallSize) {
  for (int64_t n = 1; n <= 1000; ++n) {
    std::vector<bool> seen(static_cast<size_t>(n));
    for (const int64_t i : order(n, 7, n % 5)) {
      ASSERT_GE(i, 0);
      ASSERT_LT(i, n);
      ASSERT_FALSE(seen[static_cast<size_t>(i)]) << i << " comes twice for n = " << n;
      seen[static_cast<size_t>(i)] = true;
    }
  }
}

TEST(Sampler, StaysInsideLargeSizesWithoutRepeating) {
  for (const int64_t n : {int64_t{1} << 20, (int64_t{1} << 32) - 5, (int64_t{1} << 40) + 1,
                          (int64_t{1} << 62) + 12345, INT64_MAX}) {
    std::vector<int64_t> seen;
    for (int64_t k = 0; k < 2000; ++k) {
      seen.push_back(shuffled(n / 2000 * k, n, 3, 1));
      ASSERT_GE(seen.back(), 0);
      ASSERT_LT(seen.back(), n);
    }
    std::sort(seen.begin(), seen.end());
    EXPECT_EQ(std::adjacent_find(seen.begin(), seen.end()), seen.end()) << "n = " << n;
  }
}

TEST(Sampler, DependsOnSeedAndEpochOnly) {
  EXPECT_EQ(order(100, 1, 0), order(100, 1, 0));
  EXPECT_NE(order(100, 1, 0), order(100, 1, 1));
  EXPECT_NE(order(100, 1, 0), order(100, 2, 0));
}

// Each of the n! orders of a small set is about equally likely over epochs: chi-square with 23
// degrees of freedom, 49.7 is its 99.9 % point. Epochs are fixed, so this passes or fails for ever.
TEST(Sampler, FavoursNoOrderOfASmallSet) {
  constexpr int kEpochs = 24000;
  std::map<std::vector<int64_t>, int> counts;
  for (int epoch = 0; epoch < kEpochs; ++epoch) ++counts[order(4, 11, epoch)];
  ASSERT_EQ(counts.size(), 24U);
  double chi_square = 0;
  for (const auto& [permutation, count] : counts) {
    chi_square += (count - 1000.0) * (count - 1000.0) / 1000.0;
  }
  EXPECT_LT(chi_square, 49.7);
}

TEST(Sampler, RefusesAnIndexOutside) {
  test::expect_error(ErrorKind::Internal, {"outside"}, [] { (void)shuffled(5, 5, 0, 0); });
  test::expect_error(ErrorKind::Internal, {"outside"}, [] { (void)shuffled(-1, 5, 0, 0); });
}

}  // namespace
}  // namespace penstock
