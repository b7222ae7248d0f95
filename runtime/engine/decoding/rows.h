// runtime/engine/decoding/rows.h -- Row: one row of the network's batch in decoding, which is an
// unfinished text whose next word is wanted; and the rules that say which rows can use the
// key/value cache.
//
// Rounds (rounds.h) takes a list of rows each round. Where a row is a row of the round before and
// one word more, the keys and values of its earlier positions are cached already: origins() finds
// that earlier row. Pure.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace penstock {

// What the network reads of one row. Words are token ids.
struct Row {
  // Translation: language tag, pieces of the sentence, end; else empty.
  std::vector<int32_t> source = {};
  // The words so far, the begin token or prompt included; at least one.
  std::vector<int32_t> words = {};
  double draw = 0.0;  // a random number in [0, 1) for sampling; unused by beam search
  // A number that the rows of one text share; rows of other texts have other numbers.
  int64_t text = 0;
  int64_t place = 0;  // its index in the round (places.h): replica 0's rows, then replica 1's
};

// Rows as bytes, for sending to the other ranks, and back.
[[nodiscard]] std::string encode(std::span<const Row> rows);
[[nodiscard]] std::vector<Row> decode(const std::string& text);

// A list of `places` rows in which each row stands at its place; a free place has a row without
// words. Throws Error(Internal) when two rows have the same place, or one is outside [0, places).
[[nodiscard]] std::vector<Row> by_place(std::span<const Row> rows, int64_t places);

// The number of positions over which the network computes a row that cannot use the cache: the
// least power of two, 32 at least, that holds its words and its source, or `context`
// (model.context) where that is less. It follows from the row alone, since the result of a row must
// not depend on other rows. With powers of two there are few shapes to prepare for.
[[nodiscard]] int64_t whole_positions(const Row& row, int64_t context);

// For each row of `now`, by place: the place in `before`, the round before, of the row that it
// extends by one word, or -1 where there is none. Both rows are of the same text and on the same
// replica (each replica has `per_replica` places). Where several rows qualify, the one at the row's
// own place is preferred, then the lowest.
[[nodiscard]] std::vector<int64_t> origins(std::span<const Row> before, std::span<const Row> now,
                                           int64_t per_replica);

}  // namespace penstock
