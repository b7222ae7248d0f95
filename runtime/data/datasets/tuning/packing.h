// runtime/data/datasets/tuning/packing.h -- pack_rows(): decides which samples of fine-tuning data
// share a row of model.context positions, so that short samples waste little of the computation on
// padding.
//
// Example: samples of 300, 500 and 200 positions in rows of 512 make two rows, {300, 200} and
// {500}.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace penstock {

struct PackedRows {
  std::vector<int64_t> samples;  // numbers of the samples, from 0, row after row
  std::vector<int64_t> begins;   // for each row its first index in `samples`; then samples.size()

  [[nodiscard]] int64_t size() const { return static_cast<int64_t>(begins.size()) - 1; }  // rows
  // The numbers of the samples of row `index`.
  [[nodiscard]] std::span<const int64_t> row(int64_t index) const {
    const auto at = static_cast<size_t>(index);
    return std::span(samples).subspan(static_cast<size_t>(begins[at]),
                                      static_cast<size_t>(begins[at + 1] - begins[at]));
  }
};

// Puts samples into rows of `room` positions by best fit: one sample after another, in an order
// drawn from `seed` (without `shuffle` in their own order), goes into the row in which it leaves
// the least room free, or into a new row. `lengths`: positions of each sample, 1 to `room`. The
// result depends on the arguments alone, so every rank computes the same rows. O(n log n).
[[nodiscard]] PackedRows pack_rows(std::span<const int32_t> lengths, int64_t room, uint64_t seed,
                                   bool shuffle);

// Rows of one sample each, in the order of the samples.
[[nodiscard]] PackedRows single_rows(int64_t samples);

// The share, in [0, 1], of the positions of all rows that samples fill.
[[nodiscard]] double filled_share(const PackedRows& rows, std::span<const int32_t> lengths,
                                  int64_t room);

}  // namespace penstock
