// runtime/data/datasets/tuning/packing.h -- which samples share a row.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace penstock {

struct PackedRows {
  std::vector<int64_t> samples;  // row after row, in their order within the row
  std::vector<int64_t> begins;   // of each row in `samples`; and the end of the last

  [[nodiscard]] int64_t size() const { return static_cast<int64_t>(begins.size()) - 1; }
  [[nodiscard]] std::span<const int64_t> row(int64_t index) const {
    const auto at = static_cast<size_t>(index);
    return std::span(samples).subspan(static_cast<size_t>(begins[at]),
                                      static_cast<size_t>(begins[at + 1] - begins[at]));
  }
};

// Samples of these lengths, 1 to `room`, into rows of `room` positions: taken in an order drawn
// from `seed` (in their own where `shuffle` is off), each goes where the least room is left behind
// it, or into a new row (best fit). What it gives depends on its arguments alone, so every rank
// knows it. O(n log n).
[[nodiscard]] PackedRows pack_rows(std::span<const int32_t> lengths, int64_t room, uint64_t seed,
                                   bool shuffle);

// One sample a row, in the order of the samples.
[[nodiscard]] PackedRows single_rows(int64_t samples);

// The share of the rows' positions that samples fill.
[[nodiscard]] double filled_share(const PackedRows& rows, std::span<const int32_t> lengths,
                                  int64_t room);

}  // namespace penstock
