// runtime/data/datasets/tuning/packing.h -- which samples share a row.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace penstock {

struct PackedRows {
  std::vector<int64_t> samples;  // numbers of the samples, row after row
  std::vector<int64_t> begins;   // where each row begins in `samples`; then the end of the last

  [[nodiscard]] int64_t size() const { return static_cast<int64_t>(begins.size()) - 1; }
  // The samples of a row.
  [[nodiscard]] std::span<const int64_t> row(int64_t index) const {
    const auto at = static_cast<size_t>(index);
    return std::span(samples).subspan(static_cast<size_t>(begins[at]),
                                      static_cast<size_t>(begins[at + 1] - begins[at]));
  }
};

// Puts samples of these lengths, 1 to `room`, into rows of `room` positions by best fit: in an
// order drawn from `seed` (by number where `shuffle` is off), each goes into the row that it fills
// best, or into a new one. The result depends on the arguments alone: every rank computes the same.
// O(n log n).
[[nodiscard]] PackedRows pack_rows(std::span<const int32_t> lengths, int64_t room, uint64_t seed,
                                   bool shuffle);

// One sample a row, in the order of the samples.
[[nodiscard]] PackedRows single_rows(int64_t samples);

// The share of the rows' positions that samples fill.
[[nodiscard]] double filled_share(const PackedRows& rows, std::span<const int32_t> lengths,
                                  int64_t room);

}  // namespace penstock
