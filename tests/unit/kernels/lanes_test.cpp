// A register of numbers at a time: each lane is what the scalar conversions make of it.
#include "kernels/cpu/loops/lanes.h"

#include <gtest/gtest.h>

#include <array>

namespace penstock {
namespace {

// Every half with every way its lower bits can lie to the next one, NaNs and infinities among them.
TEST(Lanes, RoundAsBfloat16DoesAndComeBack) {
  for (const uint32_t low : {0U, 1U, 0x7fffU, 0x8000U, 0x8001U, 0xffffU}) {
    for (uint32_t high = 0; high < 0x10000U; high += kLanes) {
      std::array<float, kLanes> values{};
      for (uint32_t i = 0; i < kLanes; ++i) {
        values[i] = std::bit_cast<float>(((high + i) << 16) | low);
      }
      std::array<bfloat16, kLanes> halves{};
      store_lanes(halves.data(), load_lanes(values.data()));
      std::array<float, kLanes> back{};
      store_lanes(back.data(), load_lanes(halves.data()));
      for (size_t i = 0; i < kLanes; ++i) {
        ASSERT_EQ(halves[i].bits, bfloat16(values[i]).bits) << std::hex << high + i << " " << low;
        ASSERT_EQ(std::bit_cast<uint32_t>(back[i]), uint32_t{halves[i].bits} << 16);
      }
    }
  }
}

template <class T>
void expect_part(int64_t count) {
  std::array<T, kLanes> from{};
  for (size_t i = 0; i < kLanes; ++i) from[i] = T(static_cast<float>(i + 1));
  const auto expect = [&](const std::array<T, kLanes>& found, float behind) {
    for (size_t i = 0; i < kLanes; ++i) {
      const float wanted = static_cast<int64_t>(i) < count ? static_cast<float>(i + 1) : behind;
      EXPECT_EQ(static_cast<float>(found[i]), wanted) << i << " of " << count;
    }
  };
  std::array<T, kLanes> to{};
  to.fill(T(-1.0F));
  store_lanes(to.data(), load_lanes(from.data(), count));
  expect(to, 0.0F);
  to.fill(T(-1.0F));
  store_lanes(to.data(), load_lanes(from.data()), count);
  expect(to, -1.0F);
}

TEST(Lanes, LoadZerosBehindAndStoreNothingBehind) {
  for (int64_t count = 0; count <= kLanes; ++count) {
    expect_part<float>(count);
    expect_part<bfloat16>(count);
    expect_part<int32_t>(count);
  }
}

}  // namespace
}  // namespace penstock
