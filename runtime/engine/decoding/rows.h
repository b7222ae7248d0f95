// runtime/engine/decoding/rows.h -- Row: an unfinished text, of which a round of decoding finds the
// next word; origins(): which row of the round before has its earlier positions computed. Pure.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace penstock {

// What the network reads of one row.
struct Row {
  std::vector<int32_t> source = {};  // to translate: tag, pieces, end; else empty
  std::vector<int32_t> words = {};   // the words so far, begin included; at least one
  double draw = 0.0;                 // in [0, 1): for sampling
  int64_t text = 0;                  // the number of its text, whose rows alone it may continue
  int64_t place = 0;                 // its index in the round: replica 0's rows, then replica 1's
};

// Rows as bytes, for the other ranks.
[[nodiscard]] std::string encode(std::span<const Row> rows);
[[nodiscard]] std::vector<Row> decode(const std::string& text);

// Returns `places` rows in the order of their places; a free place has a row without words. Throws
// Error(Internal) when two rows have the same place, or a place is outside [0, places).
[[nodiscard]] std::vector<Row> by_place(std::span<const Row> rows, int64_t places);

// The number of positions over which a row that is new to the network is computed: a power of two,
// 32 at least, or `context`, which is what the network sees, where that is less. It follows from
// the row alone, since the result of a row must not depend on other rows. With powers of two there
// are few shapes, and one run over each of them costs less than twice the longest.
[[nodiscard]] int64_t whole_positions(const Row& row, int64_t context);

// The origin of each row of `now`, by place: the place in `before` of a row of the same text, on
// the same replica (each has `per_replica` places), that the row extends by one word; of several
// such rows the one at the row's own place, if it is among them. -1 where there is none.
[[nodiscard]] std::vector<int64_t> origins(std::span<const Row> before, std::span<const Row> now,
                                           int64_t per_replica);

}  // namespace penstock
