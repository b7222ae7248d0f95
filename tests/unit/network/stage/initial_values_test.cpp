#include "runtime/network/stage/initial_values.h"

#include <gtest/gtest.h>
#include <omp.h>

#include <algorithm>
#include <cmath>

#include "kernels/bfloat16.h"
#include "tests/unit/network/optimizer/update_device.h"

namespace penstock {
namespace {

std::vector<float> values(Device& device, const std::string& name, const Initializer& init,
                          uint64_t seed, int64_t elements = 10001) {
  Parameter parameter;
  parameter.name = name;
  parameter.shape = {elements};
  parameter.init = init;
  parameter.weight = Weight(device.empty({elements}, DType::F32, Purpose::Parameters));
  fill_initial_values(parameter, seed, device);
  const auto all = parameter.weight.value().span<const float>();
  return {all.begin(), all.end()};
}

TEST(InitialValues, DependOnSeedAndNameOnly) {
  const auto device = make_cpu_device(1);
  const Initializer normal{Initializer::Kind::Normal, 0.5F};
  EXPECT_EQ(values(*device, "a", normal, 1), values(*device, "a", normal, 1));
  EXPECT_NE(values(*device, "a", normal, 1), values(*device, "b", normal, 1));
  EXPECT_NE(values(*device, "a", normal, 1), values(*device, "a", normal, 2));
}

TEST(InitialValues, HaveTheRightMoments) {
  const auto device = make_cpu_device(1);
  double sum = 0.0;
  double squares = 0.0;
  const auto normal = values(*device, "n", {Initializer::Kind::Normal, 0.5F}, 3, 100000);
  for (float v : normal) {
    sum += v;
    squares += static_cast<double>(v) * v;
  }
  EXPECT_NEAR(sum / 1e5, 0.0, 0.01);
  EXPECT_NEAR(std::sqrt(squares / 1e5), 0.5, 0.01);
  for (float v : values(*device, "u", {Initializer::Kind::Uniform, 0.25F}, 3)) {
    ASSERT_LE(std::abs(v), 0.25F);
  }
}

// Large ones are made by several threads; the last four numbers are not whole.
TEST(InitialValues, DoNotDependOnThreads) {
  const auto device = make_cpu_device(1);
  const Initializer normal{Initializer::Kind::Normal, 1.0F};
  constexpr int64_t kLarge = (int64_t{1} << 20) + 4 * 1000 + 3;
  const int threads = omp_get_max_threads();
  omp_set_num_threads(1);
  const auto by_one = values(*device, "large", normal, 5, kLarge);
  omp_set_num_threads(3);
  EXPECT_EQ(values(*device, "large", normal, 5, kLarge), by_one);
  omp_set_num_threads(threads);
  const auto part = values(*device, "large", normal, 5, 4096);
  EXPECT_TRUE(std::equal(part.begin(), part.end(), by_one.begin()));
}

// An accelerator's are drawn piece by piece, so that the host holds no second copy.
TEST(InitialValues, DoNotDependOnWhereTheyLie) {
  constexpr int64_t kTwoPieces = (int64_t{4} << 20) + 5;
  const Initializer normal{Initializer::Kind::Normal, 1.0F};
  const auto device = make_cpu_device(1);
  UpdateDevice elsewhere(false);
  EXPECT_EQ(values(elsewhere, "large", normal, 5, kTwoPieces),
            values(*device, "large", normal, 5, kTwoPieces));
  EXPECT_EQ(elsewhere.largest_copy(), size_t{16} << 20);
}

// What is kept in bf16 is what its fp32 numbers are rounded to.
TEST(InitialValues, AreRounded) {
  constexpr int64_t kTwoPieces = (int64_t{4} << 20) + 5;
  const Initializer normal{Initializer::Kind::Normal, 1.0F};
  const auto device = make_cpu_device(1);
  const std::vector<float> wide = values(*device, "large", normal, 5, kTwoPieces);
  UpdateDevice elsewhere(false);
  Parameter parameter;  // after both devices: its weight goes back to them
  parameter.name = "large";
  parameter.shape = {kTwoPieces};
  parameter.init = normal;
  for (Device* where : {device.get(), static_cast<Device*>(&elsewhere)}) {
    parameter.weight = Weight(where->empty({kTwoPieces}, DType::BF16, Purpose::Parameters));
    fill_initial_values(parameter, 5, *where);
    const auto narrow = parameter.weight.value().span<const bfloat16>();
    const bool alike = std::ranges::equal(
        narrow, wide, [](bfloat16 a, float b) { return a.bits == bfloat16(b).bits; });
    EXPECT_TRUE(alike);
  }
  EXPECT_EQ(elsewhere.largest_copy(), size_t{8} << 20);
}

TEST(InitialValues, ZerosAndOnes) {
  const auto device = make_cpu_device(1);
  for (float v : values(*device, "z", {}, 1)) ASSERT_EQ(v, 0.0F);
  for (float v : values(*device, "o", {Initializer::Kind::Ones}, 1)) ASSERT_EQ(v, 1.0F);
}

}  // namespace
}  // namespace penstock
