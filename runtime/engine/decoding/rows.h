// runtime/engine/decoding/rows.h -- Row: a text on its way, as the rounds that let it grow see it.
// Pure.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace penstock {

// What the network reads of one row.
struct Row {
  std::vector<int32_t> source = {};  // translation: tag, pieces, end
  std::vector<int32_t> words = {};   // the words so far, begin included; at least one
  double draw = 0.0;                 // in [0, 1): for sampling
  int64_t text = 0;                  // the text it belongs to: it continues rows of that text only
  int64_t place = 0;                 // in the round, over all replicas (places.h)
};

// Rows as bytes, for the other ranks.
[[nodiscard]] std::string encode(std::span<const Row> rows);
[[nodiscard]] std::vector<Row> decode(const std::string& text);

// The rows in the order of their places, of which there are `places`; a free place has a row
// without words. Throws Error(Internal) when two rows have the same place, or one has none of
// these.
[[nodiscard]] std::vector<Row> by_place(std::span<const Row> rows, int64_t places);

// The number of positions over which a row that is new to the network is computed: a power of two,
// 32 at least, or `context`, which is what the network sees, where that is less. It follows from
// the row alone, since the result of a row must not depend on other rows. With powers of two there
// are few shapes, and rows of all lengths together cost less than twice what the longest one does.
[[nodiscard]] int64_t whole_positions(const Row& row, int64_t context);

// The origin of each row of `now`, by place: the place of the row in `before` that it extends by
// one word, of the same text and on the same replica (of `per_replica` places each), its own place
// if possible; -1 where there is none.
[[nodiscard]] std::vector<int64_t> origins(std::span<const Row> before, std::span<const Row> now,
                                           int64_t per_replica);

}  // namespace penstock
