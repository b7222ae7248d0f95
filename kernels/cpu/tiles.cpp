#include "kernels/cpu/tiles.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "kernels/cpu/loops/loops.h"
#include "kernels/cpu/loops/transposed.h"

namespace penstock {
namespace {

// Returns the bits of bfloat16(value) in the upper half of a word. The lower half is arbitrary.
[[gnu::always_inline]] inline uint32_t upper(float value) {
  const auto word = std::bit_cast<uint32_t>(value);
  const uint32_t near = word + (0x7fffU + ((word >> 16) & 1U));
  return (word & 0x7fffffffU) > 0x7f800000U ? word | 0x400000U : near;
}
[[gnu::always_inline]] inline uint32_t upper(bfloat16 value) {
  return static_cast<uint32_t>(value.bits) << 16;
}

// Packs two rows into words of two bf16: `first` in the lower half, `second` in the upper half. The
// upper half is zero if there is no second row.
template <class Element>
void pair_rows(uint32_t* words, const Element* first, const Element* second) {
  if (second == nullptr) {
    for (int64_t j = 0; j < kTileColumns; ++j) words[j] = upper(first[j]) >> 16;
    return;
  }
#pragma GCC ivdep
  for (int64_t j = 0; j < kTileColumns; ++j) {
    words[j] = (upper(first[j]) >> 16) | (upper(second[j]) & 0xffff0000U);
  }
}

constexpr int64_t kSide = 32;  // rows and columns that are transposed at once: each is a cache line
using Square = std::array<bfloat16, kSide * kSide>;

// Returns eight words; word i holds number i of both rows. transposed() then moves such pairs as
// words, eight by eight.
[[gnu::always_inline]] inline Row paired(const bfloat16* first, const bfloat16* second) {
  using Half = uint16_t __attribute__((vector_size(16)));
  Half a;
  Half b;
  std::memcpy(&a, first, sizeof a);
  std::memcpy(&b, second, sizeof b);
  const auto pair =
      __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11, 4, 12, 5, 13, 6, 14, 7, 15);
  return load_row(&pair);
}

void transpose_square(bfloat16* to, int64_t to_step, const Square& square) {
  constexpr int64_t kPairs = 2 * kRow;  // rows that the words hold: two in each word
  for (int64_t column = 0; column < kSide; column += kRow) {
    for (int64_t row = 0; row < kSide; row += kPairs) {
      Rows words;
      for (int64_t i = 0; i < kRow; ++i) {
        const bfloat16* first = &square[static_cast<size_t>((row + 2 * i) * kSide + column)];
        words[static_cast<size_t>(i)] = paired(first, first + kSide);
      }
      bfloat16* line = to + column * to_step + row;
      for (const Row& transposed_row : transposed(words)) {
        store_row(line, transposed_row);
        line += to_step;
      }
    }
  }
}

struct Corner {
  int64_t rows, columns;
};

void transpose_corner(bfloat16* to, int64_t to_step, const bfloat16* from, int64_t step,
                      const Corner& corner) {
  for (int64_t column = 0; column < corner.columns; ++column) {
    for (int64_t row = 0; row < corner.rows; ++row) {
      to[column * to_step + row] = from[row * step + column];
    }
  }
}

}  // namespace

template <class Element>
void copy_to_tiles(int threads, bfloat16* tiles, const Element* matrix, int64_t rows,
                   int64_t columns) {
  const int64_t padded_rows = (rows + kTileRows - 1) / kTileRows * kTileRows;
  auto* words = reinterpret_cast<uint32_t*>(tiles);
  for_rows(threads, padded_rows / 2, 2 * columns, [&](int64_t pair) {
    const int64_t row = 2 * pair;
    const Element* first = matrix + row * columns;
    const Element* second = row + 1 < rows ? first + columns : nullptr;
    for (int64_t column = 0; column < columns; column += kTileColumns) {
      uint32_t* to = words + column * padded_rows / 2 + pair * kTileColumns;
      if (row < rows) {
        pair_rows(to, first + column, second == nullptr ? nullptr : second + column);
      } else {
        std::fill_n(to, kTileColumns, 0U);
      }
    }
  });
}
template void copy_to_tiles(int, bfloat16*, const float*, int64_t, int64_t);
template void copy_to_tiles(int, bfloat16*, const bfloat16*, int64_t, int64_t);

void copy_transposed(int threads, bfloat16* to, const bfloat16* from, int64_t rows, int64_t columns,
                     int64_t step) {
  constexpr int64_t kStrip = 8 * kSide;  // columns of a strip, whose lines stay in the cache
  for_rows(threads, (columns + kStrip - 1) / kStrip, kStrip * rows, [&](int64_t strip) {
    alignas(64) Square square;
    const int64_t end = std::min((strip + 1) * kStrip, columns);
    for (int64_t row = 0; row < rows; row += kSide) {
      for (int64_t column = strip * kStrip; column < end; column += kSide) {
        const bfloat16* here = from + row * step + column;
        bfloat16* there = to + column * rows + row;
        const Corner corner{std::min(kSide, rows - row), std::min(kSide, end - column)};
        if (corner.rows < kSide || corner.columns < kSide) {
          transpose_corner(there, rows, here, step, corner);
          continue;
        }
        for (int64_t i = 0; i < kSide; ++i) {
          std::memcpy(&square[static_cast<size_t>(i * kSide)], here + i * step,
                      kSide * sizeof(bfloat16));
        }
        transpose_square(there, rows, square);
      }
    }
  });
}

void copy_rows(int threads, bfloat16* to, const bfloat16* from, int64_t rows, int64_t columns,
               int64_t step) {
  for_rows(threads, rows, columns, [&](int64_t row) {
    std::memcpy(to + row * columns, from + row * step,
                static_cast<size_t>(columns) * sizeof(bfloat16));
  });
}

}  // namespace penstock
