// runtime/network/layers/past.h -- Past, the key/value cache: keys and values of earlier positions,
// kept while a network generates tokens one by one.
//
// The first round computes whole rows (the prompts) and calls remember(). In each later round the
// inputs are one new position of each row; attention takes the keys and values of the earlier
// positions from here, and puts those of the new one behind them (docs/generation.md). Each rank
// has one Past, for the attention layers that it holds. A row is one text that is generated; a
// micro-batch has several rows.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "kernels/device.h"

namespace penstock {

class Past {
 public:
  // `positions` is the length of the longest row, in tokens; memory is taken for all of them.
  explicit Past(int64_t positions) : positions_(positions) {}

  // The keys and values of one attention layer and one micro-batch, each [rows, positions, inner];
  // inner = heads of keys * width of a head.
  struct Kept {
    Tensor keys, values;
  };

  // The tensors kept for that layer and micro-batch, to read and to write to; throws
  // Error(Internal) before the first remember() for them. `attention` is the hash of the layer's
  // name, `micro_batch` the index among those of all replicas.
  [[nodiscard]] Kept& of(uint64_t attention, int64_t micro_batch);
  // Copies the rows with these numbers from `now`, which may have fewer positions, over the
  // beginning of the same rows here. The first call allocates them, all zero.
  void remember(Device& device, uint64_t attention, int64_t micro_batch, const Kept& now,
                std::span<const int64_t> rows);

  // Copies row `from` over row `to` in all layers, for each move, as a beam search does when it
  // goes on with other beginnings. All rows are read before any is written. Row n here is row n %
  // batch of micro-batch first_micro_batch + n / batch; `batch`: rows of a micro-batch.
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
  // True: the inputs are one position of each row, and the fields below say which. False: the
  // inputs are whole rows.
  bool one_position = false;
  std::vector<int64_t> fresh;  // with whole rows: numbers of the rows to remember(), from 0
};
// The names of the batch fields, I32, that layers read in a round with one position of each row. p
// is the number of that position in its row, from 0; a row's index is that in its micro-batch.
inline constexpr const char* kPositions = "positions";  // [rows, 1]: p
inline constexpr const char* kSeen = "seen";            // [rows]: p + 1, positions it may look at
// [rows]: row index * context + p, where context is the length of the longest row: the row of
// Kept's tensors, seen as [rows * positions, inner], to which the keys and values of the position
// go.
inline constexpr const char* kPlaces = "places";

}  // namespace penstock
