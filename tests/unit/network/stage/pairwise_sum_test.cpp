// Sums in pairs: of any number of micro-batches those of the tree, whole or in parts, and the same
// whether one replica adds them up or several.
#include "runtime/network/stage/pairwise_sum.h"

#include <gtest/gtest.h>

#include <bit>
#include <random>
#include <vector>

#include "kernels/ops/pointwise.h"
#include "runtime/planning/plan/arrangement.h"
#include "runtime/system/comm/pairwise.h"

namespace penstock {
namespace {

constexpr int64_t kElements = 33;
using Numbers = std::vector<float>;

// Numbers of widely different sizes, so that the bits of a sum tell the order.
std::vector<Numbers> numbers_of(int micro_batches) {
  std::mt19937 engine(7);
  std::uniform_real_distribution<float> mantissa(-1.0F, 1.0F);
  std::uniform_int_distribution<int> exponent(-12, 12);
  std::vector<Numbers> all(static_cast<size_t>(micro_batches), Numbers(kElements));
  for (Numbers& numbers : all) {
    for (float& x : numbers) x = std::ldexp(mantissa(engine), exponent(engine));
  }
  return all;
}

// The largest power of two of them, below all, and the others.
Numbers tree_sum(std::span<const Numbers> all) {
  if (all.size() == 1) return all[0];
  const size_t left = std::bit_ceil(all.size()) / 2;
  Numbers sum = tree_sum(all.first(left));
  const Numbers right = tree_sum(all.subspan(left));
  for (size_t i = 0; i < sum.size(); ++i) sum[i] += right[i];
  return sum;
}

class PairwiseSums : public testing::Test {
 protected:
  Tensor zeros() { return device_->zeros({kElements}, DType::F32, Purpose::Gradients); }
  static void add(const Tensor& to, const Numbers& numbers) {
    for (size_t i = 0; i < numbers.size(); ++i) to.span<float>()[i] += numbers[i];
  }
  // Sums as a replica does in a step; twice, so that nothing is left of the first.
  Numbers sum_of(std::span<const Numbers> all, bool in_parts) {
    Tensor arriving = zeros();
    PairwiseSum sum(arriving, static_cast<int>(all.size()), *device_);
    for (int step = 0; step < 2; ++step) {
      device_->pointwise().fill(arriving, 0.0F);
      sum.begin();
      for (size_t m = 0; m < all.size(); ++m) {
        add(arriving, all[m]);
        if (in_parts && m + 1 == all.size()) {
          sum.finish(arriving.view(20, {13}));
          sum.finish(arriving.view(0, {20}));
        }
        sum.next();
      }
    }
    const auto values = arriving.span<float>();
    return {values.begin(), values.end()};
  }

  std::unique_ptr<Device> device_ = make_cpu_device(1);
};

TEST_F(PairwiseSums, AreThoseOfTheTree) {
  for (int count = 1; count <= 20; ++count) {
    const std::vector<Numbers> all = numbers_of(count);
    EXPECT_EQ(sum_of(all, false), tree_sum(all)) << count;
    EXPECT_EQ(sum_of(all, true), tree_sum(all)) << count << ", in parts";
  }
  EXPECT_NE(tree_sum(numbers_of(16)), [] {
    Numbers one_by_one(kElements);
    for (const Numbers& numbers : numbers_of(16)) {
      for (size_t i = 0; i < numbers.size(); ++i) one_by_one[i] += numbers[i];
    }
    return one_by_one;
  }());
}

TEST_F(PairwiseSums, AreTheSameForEveryNumberOfReplicas) {
  constexpr int kMicroBatches = 24;
  const std::vector<Numbers> all = numbers_of(kMicroBatches);
  const Numbers one = sum_of(all, false);
  for (const int replicas : {3, 6, 12, 24}) {
    const size_t share = kMicroBatches / static_cast<size_t>(replicas);
    std::vector<PairwiseSumOf<float>> over_replicas(kElements);
    for (int r = 0; r < replicas; ++r) {
      const Numbers mine =
          sum_of(std::span(all).subspan(static_cast<size_t>(r) * share, share), false);
      for (size_t i = 0; i < mine.size(); ++i) over_replicas[i].add(mine[i]);
    }
    for (size_t i = 0; i < one.size(); ++i) {
      ASSERT_EQ(over_replicas[i].total(), one[i]) << replicas << " replicas, element " << i;
    }
  }
}

TEST_F(PairwiseSums, TakeTheMemoryThatAPlanSays) {
  for (const int count : {1, 2, 3, 4, 8, 9, 100}) {
    const Tensor arriving = zeros();
    const int64_t before = device_->memory().use().current_of(Purpose::Gradients);
    const PairwiseSum sum(arriving, count, *device_);
    const int64_t taken = device_->memory().use().current_of(Purpose::Gradients) - before;
    const Arrangement arrangement{.micro_batches = count, .exact = true};
    EXPECT_EQ(taken, before * (arrangement.gradient_copies() - 1)) << count;
    EXPECT_EQ(taken, before * pairwise_levels(count)) << count;
  }
}

TEST_F(PairwiseSums, OfNothingAreNothing) {
  const Tensor arriving = device_->empty({0}, DType::F32, Purpose::Gradients);
  PairwiseSum sum(arriving, 4, *device_);
  sum.begin();
  for (int m = 0; m < 4; ++m) sum.next();
  PairwiseSum none;
  none.begin();
  none.next();
}

TEST(PairwiseValues, AreAddedInPairs) {
  const std::vector<double> values = {1e16, 1.0, 1.0, 1.0, 1.0, 1.0, -1e16};
  EXPECT_EQ(pairwise_sum(std::span(values)), ((1e16 + 1.0) + (1.0 + 1.0)) + ((1.0 + 1.0) + -1e16));
  EXPECT_EQ(pairwise_sum(std::span<const double>()), 0.0);
}

}  // namespace
}  // namespace penstock
