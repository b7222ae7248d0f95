#include "kernels/cpu/blocked_copy.h"

#include <algorithm>
#include <utility>

namespace penstock {
namespace {

constexpr int64_t kTileRows = 16;         // what the library puts side by side, at least
constexpr int64_t kLineElements = 256;    // of a tile, of one row: the tile is 16 KiB
constexpr int64_t kWorthAThread = 32768;  // elements

// True when every whole tile of rows is a run of neighbours.
bool adjacent_in_tiles(const std::vector<int64_t>& row) {
  const auto rows = static_cast<int64_t>(row.size());
  for (int64_t r = 0; r + 1 < rows; ++r) {
    const bool same_tile = (r + 1) % kTileRows != 0;
    if (same_tile && row[static_cast<size_t>(r) + 1] != row[static_cast<size_t>(r)] + 1) {
      return false;
    }
  }
  return rows % kTileRows == 0;
}

}  // namespace

BlockedCopy::BlockedCopy(Places places)
    : places_(std::move(places)),
      tile_columns_(std::max<int64_t>(1, kLineElements / static_cast<int64_t>(places_.tap.size()))),
      rows_adjacent_(adjacent_in_tiles(places_.row)) {}

template <class F>
void BlockedCopy::for_tiles(int threads, const F& f) const {
  const auto rows = static_cast<int64_t>(places_.row.size());
  const auto columns = static_cast<int64_t>(places_.column.size());
  const auto taps = static_cast<int64_t>(places_.tap.size());
  const int64_t down = (rows + kTileRows - 1) / kTileRows;
  const int64_t across = (columns + tile_columns_ - 1) / tile_columns_;
  const int64_t worth = std::max<int64_t>(1, rows * columns * taps / kWorthAThread);
  const int shares = static_cast<int>(std::min<int64_t>(threads, worth));
#pragma omp parallel for collapse(2) schedule(static) num_threads(shares) if (shares > 1)
  for (int64_t i = 0; i < down; ++i) {
    for (int64_t j = 0; j < across; ++j) {
      const int64_t r = i * kTileRows;
      const int64_t c = j * tile_columns_;
      f(r, std::min(kTileRows, rows - r), c, std::min(tile_columns_, columns - c));
    }
  }
}

template <class T>
void BlockedCopy::pack(T* blocked, const float* plain, int threads) const {
  const auto columns = static_cast<int64_t>(places_.column.size());
  const auto taps = static_cast<int64_t>(places_.tap.size());
  const int64_t* column = places_.column.data();
  const int64_t* tap = places_.tap.data();
  for_tiles(threads, [&](int64_t r, int64_t tile_rows, int64_t c, int64_t tile_columns) {
    const int64_t* row = places_.row.data() + r;
    const float* from = plain + (r * columns + c) * taps;
    if (!rows_adjacent_) {
      for (int64_t i = 0; i < tile_rows; ++i) {
        const float* line = from + i * columns * taps;
        T* to = blocked + row[i];
        for (int64_t j = 0; j < tile_columns; ++j) {
          T* at = to + column[c + j];
          for (int64_t t = 0; t < taps; ++t) at[tap[t]] = static_cast<T>(line[j * taps + t]);
        }
      }
      return;
    }
    alignas(64) T turned[kLineElements * kTileRows];
    const int64_t length = tile_columns * taps;
    for (int64_t i = 0; i < kTileRows; ++i) {
      const float* line = from + i * columns * taps;
      for (int64_t e = 0; e < length; ++e) turned[e * kTileRows + i] = static_cast<T>(line[e]);
    }
    const T* next = turned;
    for (int64_t j = 0; j < tile_columns; ++j) {
      T* at = blocked + row[0] + column[c + j];
      for (int64_t t = 0; t < taps; ++t, next += kTileRows) {
        std::copy_n(next, kTileRows, at + tap[t]);
      }
    }
  });
}

template void BlockedCopy::pack(float*, const float*, int) const;
template void BlockedCopy::pack(bfloat16*, const float*, int) const;

void BlockedCopy::add(float* plain, const float* blocked, int threads) const {
  const auto columns = static_cast<int64_t>(places_.column.size());
  const auto taps = static_cast<int64_t>(places_.tap.size());
  const int64_t* column = places_.column.data();
  const int64_t* tap = places_.tap.data();
  for_tiles(threads, [&](int64_t r, int64_t tile_rows, int64_t c, int64_t tile_columns) {
    const int64_t* row = places_.row.data() + r;
    float* to = plain + (r * columns + c) * taps;
    if (!rows_adjacent_) {
      for (int64_t i = 0; i < tile_rows; ++i) {
        float* line = to + i * columns * taps;
        const float* from = blocked + row[i];
        for (int64_t j = 0; j < tile_columns; ++j) {
          const float* at = from + column[c + j];
          for (int64_t t = 0; t < taps; ++t) line[j * taps + t] += at[tap[t]];
        }
      }
      return;
    }
    alignas(64) float gathered[kLineElements * kTileRows];
    float* next = gathered;
    for (int64_t j = 0; j < tile_columns; ++j) {
      const float* at = blocked + row[0] + column[c + j];
      for (int64_t t = 0; t < taps; ++t, next += kTileRows) {
        std::copy_n(at + tap[t], kTileRows, next);
      }
    }
    const int64_t length = tile_columns * taps;
    for (int64_t i = 0; i < kTileRows; ++i) {
      float* line = to + i * columns * taps;
      for (int64_t e = 0; e < length; ++e) line[e] += gathered[e * kTileRows + i];
    }
  });
}

}  // namespace penstock
