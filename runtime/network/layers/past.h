// runtime/network/layers/past.h -- Past: the keys and values of what was said before, kept while
// words are chosen one by one, so that a round computes one position instead of whole rows
// (docs/generation.md).
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "kernels/device.h"

namespace penstock {

class Past {
 public:
  // Keeps keys and values of rows of at most so many positions.
  explicit Past(int64_t positions) : positions_(positions) {}

  // The keys and values of one attention and one micro-batch, each [rows, positions, inner].
  struct Kept {
    Tensor keys, values;
  };

  // The keys and values that remember() has made. Attentions are known by the hash of their name.
  [[nodiscard]] Kept& of(uint64_t attention, int64_t micro_batch);
  // Copies these rows of keys and values, whole rows from their beginning on; `now` may have fewer
  // positions.
  void remember(Device& device, uint64_t attention, int64_t micro_batch, const Kept& now,
                std::span<const int64_t> rows);

  // Row `from` becomes row `to`, counted over micro-batches of `batch` rows from
  // `first_micro_batch` on. All read before any is written.
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

// The round of choosing words, as a micro-batch's layers must know it (MicroBatch::decoding).
struct Decoding {
  Past* past = nullptr;
  // The inputs are one position of each row, and these batch fields say which; otherwise they are
  // whole rows.
  bool one_position = false;
  std::vector<int64_t> fresh;  // whole rows: those to remember
};
// Batch fields, I32, by row: the position; how many there are with it; its place among [rows x
// context] keys.
inline constexpr const char* kPositions = "positions";  // [rows, 1]
inline constexpr const char* kSeen = "seen";            // [rows]
inline constexpr const char* kPlaces = "places";        // [rows]

}  // namespace penstock
