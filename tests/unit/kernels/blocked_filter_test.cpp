// Filters in blocks of channels: each number where its places say, and nothing beside them.
#include "kernels/cpu/image/blocked_filter.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <string>
#include <utility>

namespace penstock {
namespace {

struct Case {
  int64_t outputs, inputs, taps;
  int64_t block;  // of outputs
  int64_t pairs;  // inputs side by side
};

int64_t blocks(int64_t channels, int64_t size) {
  return (channels + size - 1) / size;
}

// [outputs / block, taps, inputs / pairs, block, pairs], as the library's AcdB32a2b.
BlockedFilter order_of(const Case& c) {
  BlockedFilter order;
  const int64_t row = c.block * c.pairs;
  const int64_t rows = blocks(c.inputs, c.pairs);
  for (int64_t o = 0; o < c.outputs; ++o) {
    order.output_places.push_back(o / c.block * c.taps * rows * row + o % c.block * c.pairs);
  }
  for (int64_t i = 0; i < c.inputs; ++i) {
    order.input_places.push_back(i / c.pairs * row + i % c.pairs);
  }
  for (int64_t t = 0; t < c.taps; ++t) order.tap_places.push_back(t * rows * row);
  return order;
}

size_t blocked_size(const Case& c) {
  return static_cast<size_t>(blocks(c.outputs, c.block) * c.block * c.taps *
                             blocks(c.inputs, c.pairs) * c.pairs);
}

std::vector<float> numbers(size_t count, uint32_t seed) {
  std::vector<float> all(count);
  for (size_t i = 0; i < count; ++i) {
    all[i] = static_cast<float>((i * 2654435761U + seed) % 65521) / 65521.0F - 0.5F;
  }
  return all;
}

// f(index in the plain filter, place in the blocked one)
template <class F>
void for_each_number(const BlockedFilter& order, const F& f) {
  size_t plain = 0;
  for (const int64_t o : order.output_places) {
    for (const int64_t i : order.input_places) {
      for (const int64_t t : order.tap_places) f(plain++, static_cast<size_t>(o + i + t));
    }
  }
}

std::string text(const Case& c) {
  return std::to_string(c.outputs) + " x " + std::to_string(c.inputs) + " x " +
         std::to_string(c.taps) + ", blocks of " + std::to_string(c.block);
}

// Whole tiles and parts of them, blocks that are not full, few and many taps, one thread and more.
constexpr Case kCases[] = {{8, 2, 1, 8, 2},     {32, 16, 9, 32, 2}, {24, 18, 9, 48, 2},
                           {64, 34, 25, 64, 2}, {8, 6, 49, 16, 2},  {128, 64, 9, 32, 2}};

TEST(BlockedFilters, RoundEachNumberToItsPlace) {
  for (const Case& c : kCases) {
    const BlockedFilter order = order_of(c);
    ASSERT_TRUE(has_rows_of_outputs(order, DType::BF16)) << text(c);
    const auto plain = numbers(static_cast<size_t>(c.outputs * c.inputs * c.taps), 1);
    const bfloat16 untouched(7.0F);
    std::vector<bfloat16> expected(blocked_size(c), untouched);
    for_each_number(order, [&](size_t i, size_t place) { expected[place] = bfloat16(plain[i]); });
    for (const int threads : {1, 3}) {
      std::vector<bfloat16> blocked(blocked_size(c), untouched);
      block_filter(threads, order, blocked.data(), plain.data());
      for (size_t i = 0; i < blocked.size(); ++i) {
        ASSERT_EQ(blocked[i].bits, expected[i].bits) << text(c) << ", " << i;
      }
    }
  }
}

TEST(BlockedFilters, RoundWhatIsNoNumberAsBfloat16Does) {
  const Case c{8, 2, 1, 8, 2};
  const BlockedFilter order = order_of(c);
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const std::vector<float> plain = {std::nanf(""),
                                    -std::nanf(""),
                                    kInfinity,
                                    -kInfinity,
                                    std::bit_cast<float>(0x7f800001U),
                                    0.0F,
                                    -0.0F,
                                    3.4e38F,
                                    -3.4e38F,
                                    1e-45F,
                                    std::bit_cast<float>(0x3f808000U),
                                    1.0F,
                                    2.0F,
                                    3.0F,
                                    4.0F,
                                    std::bit_cast<float>(0x3f818000U)};
  std::vector<bfloat16> blocked(plain.size());
  block_filter(1, order, blocked.data(), plain.data());
  for_each_number(order, [&](size_t i, size_t place) {
    EXPECT_EQ(blocked[place].bits, bfloat16(plain[i]).bits) << plain[i];
  });
}

TEST(BlockedFilters, ComeBackAndAreAdded) {
  for (Case c : kCases) {
    c.pairs = 1;
    const BlockedFilter order = order_of(c);
    ASSERT_TRUE(has_rows_of_outputs(order, DType::F32)) << text(c);
    const std::vector<float> blocked = numbers(blocked_size(c), 2);
    const auto before = numbers(static_cast<size_t>(c.outputs * c.inputs * c.taps), 3);
    for (const bool add : {false, true}) {
      std::vector<float> expected = before;
      for_each_number(order, [&](size_t i, size_t place) {
        expected[i] = add ? expected[i] + blocked[place] : blocked[place];
      });
      for (const int threads : {1, 3}) {
        std::vector<float> plain = before;
        unblock_filter(threads, order, plain.data(), blocked.data(), add);
        EXPECT_EQ(plain, expected) << text(c) << (add ? ", added" : "");
      }
    }
  }
}

TEST(BlockedFilters, OfAnotherOrderAreNotKnown) {
  const BlockedFilter good = order_of({32, 16, 9, 32, 2});
  EXPECT_TRUE(has_rows_of_outputs(good, DType::BF16));
  EXPECT_FALSE(has_rows_of_outputs(good, DType::F32)) << "pairs";
  EXPECT_FALSE(has_rows_of_outputs(order_of({32, 16, 9, 32, 1}), DType::BF16)) << "no pairs";
  EXPECT_FALSE(has_rows_of_outputs(order_of({32, 15, 9, 32, 2}), DType::BF16)) << "half a pair";
  EXPECT_FALSE(has_rows_of_outputs(order_of({28, 16, 9, 32, 2}), DType::BF16)) << "half a row";
  EXPECT_FALSE(has_rows_of_outputs(order_of({32, 16, 50, 32, 2}), DType::BF16)) << "many taps";
  EXPECT_FALSE(has_rows_of_outputs(order_of({32, 16, 9, 4, 2}), DType::BF16)) << "small blocks";
  BlockedFilter inputs_follow = good;  // as the library's ABcd8a16b2a
  std::swap(inputs_follow.output_places, inputs_follow.input_places);
  EXPECT_FALSE(has_rows_of_outputs(inputs_follow, DType::BF16));
}

}  // namespace
}  // namespace penstock
