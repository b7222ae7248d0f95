// runtime/network/layers/past.h -- Past: the keys and values of earlier positions, kept while
// tokens are generated one by one, so that a round computes one position of each row instead of
// whole rows (docs/generation.md).
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "kernels/device.h"

namespace penstock {

class Past {
 public:
  // Keeps keys and values of rows of at most `positions` positions.
  explicit Past(int64_t positions) : positions_(positions) {}

  // The keys and values of one attention and one micro-batch, each [rows, positions, inner].
  struct Kept {
    Tensor keys, values;
  };

  // The keys and values that remember() has made; throws Error(Internal) where it has made none.
  // `attention` is the hash of the layer's name.
  [[nodiscard]] Kept& of(uint64_t attention, int64_t micro_batch);
  // Copies these rows of `now`, which may have fewer positions, to the beginning of the same rows
  // here.
  void remember(Device& device, uint64_t attention, int64_t micro_batch, const Kept& now,
                std::span<const int64_t> rows);

  // Copies row `from` over row `to`, for each move; all are read before any is written. Rows count
  // through micro-batches of `batch` rows, from `first_micro_batch` on.
  struct Move {
    int64_t from = 0, to = 0;
  };
  void move_rows(Device& device, std::span<const Move> moves, int64_t first_micro_batch,
                 int64_t batch);

 private:
  [[nodiscard]] Tensor nothing_of(Device& device, const Tensor& now) const;

  int64_t positions_;
  std::map<uint64_t, std::map<int64_t, Kept>> kept_;  // by attention, by micro-batch
};

// What layers are told of a round of generating tokens (MicroBatch::decoding).
struct Decoding {
  Past* past = nullptr;
  // True: the inputs are one position of each row, which the batch fields below name. False: whole
  // rows.
  bool one_position = false;
  std::vector<int64_t> fresh;  // with whole rows: the rows whose keys and values to remember
};
// The batch fields of a round with one position of each row, I32.
inline constexpr const char* kPositions = "positions";  // [rows, 1]: the position
inline constexpr const char* kSeen = "seen";            // [rows]: positions of the row up to it
inline constexpr const char* kPlaces = "places";  // [rows]: its place in keys [rows x context]

}  // namespace penstock
