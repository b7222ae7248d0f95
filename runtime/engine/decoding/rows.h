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
  std::vector<int32_t> words = {};   // those so far, what they begin with included; at least one
  double draw = 0.0;                 // in [0, 1), for those who choose at random
  int64_t text = 0;   // which of all texts this is of: it goes on from rows of that only
  int64_t place = 0;  // in the round, over all replicas (places.h)
};

// Rows as bytes, for the other ranks.
[[nodiscard]] std::string encode(std::span<const Row> rows);
[[nodiscard]] std::vector<Row> decode(const std::string& text);

// The rows by place, of so many; without words where there is nobody. Throws Error(Internal) when
// two have the same place, or one has none of these.
[[nodiscard]] std::vector<Row> by_place(std::span<const Row> rows, int64_t places);

// Over how many positions a row is computed that is new to the network, which sees `context`: a
// power of two, 32 at least, or the context where that is less. By the row alone, since what it
// gives must not depend on others; powers of two, so that there are few shapes, and so that rows of
// all lengths together cost less than twice what the longest one does.
[[nodiscard]] int64_t whole_positions(const Row& row, int64_t context);

// Of rows by place: for each the place of the one in `before` that it is one word longer than, of
// the same text and on the same replica (of `per_replica` places each), its own if it can be; -1
// where there is none.
[[nodiscard]] std::vector<int64_t> origins(std::span<const Row> before, std::span<const Row> now,
                                           int64_t per_replica);

}  // namespace penstock
