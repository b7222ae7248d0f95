// Copies in the orders of AMX's tiles against their definitions.
#include "kernels/cpu/tiles.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <vector>

namespace penstock {
namespace {

// Numbers that rounding changes, and each other than the one before.
std::vector<float> values_to_round(int64_t count) {
  std::vector<float> all;
  uint32_t state = 1;
  for (int64_t i = 0; i < count; ++i) {
    state = state * 1664525U + 1013904223U;
    all.push_back(static_cast<float>(static_cast<int32_t>(state)) * 1e-9F);
  }
  return all;
}

std::vector<bfloat16> as_bf16(const std::vector<float>& all) {
  return {all.begin(), all.end()};
}

void expect_same(const std::vector<bfloat16>& a, const std::vector<bfloat16>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) ASSERT_EQ(a[i].bits, b[i].bits) << "at " << i;
}

constexpr bfloat16 kUntouched(7.0F);

struct Extents {
  int64_t rows, columns;
};

// tiles[columns / 64][rows / 32][16][64][2]
std::vector<bfloat16> tiles_of(const std::vector<bfloat16>& matrix, const Extents& e) {
  const int64_t rows = (e.rows + 31) / 32 * 32;
  std::vector<bfloat16> tiles;
  for (int64_t column = 0; column < e.columns; column += 64) {
    for (int64_t row = 0; row < rows; row += 2) {
      for (int64_t j = column; j < column + 64; ++j) {
        for (int64_t i = row; i < row + 2; ++i) {
          const bool there = i < e.rows;
          tiles.push_back(there ? matrix[static_cast<size_t>(i * e.columns + j)] : bfloat16(0.0F));
        }
      }
    }
  }
  return tiles;
}

TEST(CopiesInTiles, OfFp32AndBf16Rows) {
  for (const Extents& e : {Extents{1, 64}, {2, 128}, {31, 64}, {45, 192}, {64, 1024}}) {
    SCOPED_TRACE(std::to_string(e.rows) + " x " + std::to_string(e.columns));
    const std::vector<float> wide = values_to_round(e.rows * e.columns);
    const std::vector<bfloat16> narrow = as_bf16(wide);
    const std::vector<bfloat16> expected = tiles_of(narrow, e);
    for (const int threads : {1, 3}) {
      std::vector<bfloat16> tiles(expected.size(), kUntouched);
      copy_to_tiles(threads, tiles.data(), wide.data(), e.rows, e.columns);
      expect_same(tiles, expected);
      tiles.assign(expected.size(), kUntouched);
      copy_to_tiles(threads, tiles.data(), narrow.data(), e.rows, e.columns);
      expect_same(tiles, expected);
    }
  }
}

TEST(CopiesInTiles, RoundWhatIsNoNumberAsBfloat16Does) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const std::vector<float> some = {std::nanf(""),
                                   -std::nanf(""),
                                   kInfinity,
                                   -kInfinity,
                                   std::bit_cast<float>(0x7f800001U),
                                   -0.0F,
                                   3.4e38F,
                                   1e-45F,
                                   std::bit_cast<float>(0x3f808000U),
                                   std::bit_cast<float>(0x3f818000U)};
  const Extents e{3, 64};
  std::vector<float> wide;
  for (int64_t i = 0; i < e.rows * e.columns; ++i) {
    wide.push_back(some[static_cast<size_t>(i) % some.size()]);
  }
  const std::vector<bfloat16> expected = tiles_of(as_bf16(wide), e);
  std::vector<bfloat16> tiles(expected.size(), kUntouched);
  copy_to_tiles(1, tiles.data(), wide.data(), e.rows, e.columns);
  expect_same(tiles, expected);
}

// Whole squares and what is left of them, alone and within longer rows.
TEST(CopiesInTiles, TransposedAndByRows) {
  for (const Extents& e : {Extents{32, 32}, {1, 1}, {33, 70}, {96, 300}, {70, 1024}, {500, 31}}) {
    for (const int64_t more : {0, 5}) {
      SCOPED_TRACE(std::to_string(e.rows) + " x " + std::to_string(e.columns));
      const int64_t step = e.columns + more;
      const std::vector<bfloat16> from = as_bf16(values_to_round(e.rows * step));
      std::vector<bfloat16> by_rows;
      std::vector<bfloat16> by_columns;
      for (int64_t i = 0; i < e.rows; ++i) {
        for (int64_t j = 0; j < e.columns; ++j) {
          by_rows.push_back(from[static_cast<size_t>(i * step + j)]);
        }
      }
      for (int64_t j = 0; j < e.columns; ++j) {
        for (int64_t i = 0; i < e.rows; ++i) {
          by_columns.push_back(from[static_cast<size_t>(i * step + j)]);
        }
      }
      for (const int threads : {1, 3}) {
        std::vector<bfloat16> to(by_rows.size(), kUntouched);
        copy_transposed(threads, to.data(), from.data(), e.rows, e.columns, step);
        expect_same(to, by_columns);
        to.assign(by_rows.size(), kUntouched);
        copy_rows(threads, to.data(), from.data(), e.rows, e.columns, step);
        expect_same(to, by_rows);
      }
    }
  }
}

}  // namespace
}  // namespace penstock
