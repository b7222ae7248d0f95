// Filters are carried in tiles: eight outputs, whose numbers are one row of a tile, by sixteen
// inputs by all taps. In the plain order each output's numbers lie together, so that blocks of
// 8 x 8 are transposed in registers on the way.
#include "kernels/cpu/image/blocked_filter.h"

#include <algorithm>
#include <array>
#include <bit>

#include "kernels/cpu/loops/loops.h"
#include "kernels/cpu/loops/transposed.h"

namespace penstock {
namespace {

constexpr int64_t kInputs = 16;  // inputs of a tile
constexpr int64_t kMostTaps = 49;

using RowOfWords = uint32_t __attribute__((vector_size(32)));
using Tile = std::array<float, kRow * kInputs * kMostTaps>;

// Sets plain[output, column] = tile[column, output]. The outputs of `plain` are `step` numbers
// apart. If kAdds is true, the numbers are added to `plain` instead.
template <bool kAdds>
void put_outputs(float* plain, const Tile& tile, int64_t step, int64_t columns) {
  int64_t c = 0;
  for (; c + kRow <= columns; c += kRow) {
    float* to = plain + c;
    for (const Row& row : transposed(load_rows(&tile[static_cast<size_t>(c * kRow)], kRow))) {
      store_row(to, kAdds ? load_row(to) + row : row);
      to += step;
    }
  }
  for (; c < columns; ++c) {
    for (int64_t i = 0; i < kRow; ++i) {
      float& to = plain[i * step + c];
      const float value = tile[static_cast<size_t>(c * kRow + i)];
      to = kAdds ? to + value : value;
    }
  }
}

// Returns the numbers rounded to bf16 in the upper halves of words; the lower halves are zero.
[[gnu::always_inline]] inline RowOfWords rounded(const Row& row) {
  const auto words = std::bit_cast<RowOfWords>(row);
  const RowOfWords near = words + (0x7fffU + ((words >> 16) & 1U));
  const RowOfWords nan = words | 0x400000U;
  return (row != row ? nan : near) & 0xffff0000U;  // NOLINT(misc-redundant-expression)
}

// Returns how many inputs share a word: bf16 numbers of two neighbouring inputs lie side by side.
constexpr int64_t inputs_of_a_word(DType type) {
  return type == DType::BF16 ? 2 : 1;
}

struct Part {           // the part of a filter that is one tile
  int64_t plain;        // where its first number lies in the plain order
  int64_t columns;      // its inputs times the taps
  int64_t outputs;      // the place of its outputs in the blocked order
  int64_t first_input;  // the index of the part's first input
  int64_t inputs;
};

// Calls f(part) for each part of a filter.
template <class F>
void for_blocks(int threads, const BlockedFilter& order, const F& f) {
  const int64_t step = order.inputs() * order.taps();
  for_rows(threads, order.outputs() / kRow, kRow * step, [&](int64_t row) {
    const int64_t place = order.output_places[static_cast<size_t>(row * kRow)];
    for (int64_t input = 0; input < order.inputs(); input += kInputs) {
      const int64_t inputs = std::min(kInputs, order.inputs() - input);
      f(Part{row * kRow * step + input * order.taps(), inputs * order.taps(), place, input,
             inputs});
    }
  });
}

// Calls f(place in the blocked filter, index in the tile) for each tap of each input of the part.
// If several inputs share a word, only the first of these inputs is visited.
template <class F>
void for_tile_rows(const BlockedFilter& order, const Part& part, int64_t inputs_of_a_word,
                   const F& f) {
  for (int64_t i = 0; i < part.inputs; i += inputs_of_a_word) {
    const int64_t here =
        part.outputs + order.input_places[static_cast<size_t>(part.first_input + i)];
    auto at = static_cast<size_t>(i * order.taps() * kRow);
    for (const int64_t tap : order.tap_places) {
      f(here + tap, at);
      at += kRow;
    }
  }
}

template <bool kAdds>
void unblock(int threads, const BlockedFilter& order, float* plain, const float* blocked) {
  for_blocks(threads, order, [&](const Part& part) {
    alignas(64) Tile tile;
    for_tile_rows(order, part, 1,
                  [&](int64_t from, size_t at) { store_row(&tile[at], load_row(blocked + from)); });
    put_outputs<kAdds>(plain + part.plain, tile, order.inputs() * order.taps(), part.columns);
  });
}

// Returns whether the places come in groups of `group`, each place in a group lying `step` behind
// the one before.
bool follow(const std::vector<int64_t>& places, int64_t group, int64_t step) {
  const auto count = static_cast<int64_t>(places.size());
  if (count % group != 0) return false;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t first = places[static_cast<size_t>(i / group * group)];
    if (places[static_cast<size_t>(i)] != first + i % group * step) return false;
  }
  return true;
}

}  // namespace

bool has_rows_of_outputs(const BlockedFilter& order, DType type) {
  const int64_t of_a_word = inputs_of_a_word(type);
  return order.taps() <= kMostTaps && follow(order.output_places, kRow, of_a_word) &&
         follow(order.input_places, of_a_word, 1);
}

void block_filter(int threads, const BlockedFilter& order, bfloat16* blocked, const float* plain) {
  const auto next_input = static_cast<size_t>(order.taps() * kRow);
  for_blocks(threads, order, [&](const Part& part) {
    alignas(64) Tile tile;
    transpose(tile.data(), kRow, plain + part.plain, order.inputs() * order.taps(), kRow,
              part.columns);
    for_tile_rows(order, part, inputs_of_a_word(DType::BF16), [&](int64_t to, size_t at) {
      const RowOfWords first = rounded(load_row(&tile[at])) >> 16;
      store_row(blocked + to, first | rounded(load_row(&tile[at + next_input])));
    });
  });
}

void unblock_filter(int threads, const BlockedFilter& order, float* plain, const float* blocked,
                    bool add) {
  (add ? unblock<true> : unblock<false>)(threads, order, plain, blocked);
}

}  // namespace penstock
