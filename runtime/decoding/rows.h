// runtime/decoding/rows.h -- Row: a text on its way, as the rounds that let it grow see it. Pure.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace penstock {

// What the network reads of one row.
struct Row {
  std::vector<int32_t> source;  // translation: tag, pieces, end
  std::vector<int32_t> words;   // those so far, what they begin with included; at least one
  double draw = 0.0;            // in [0, 1), for those who choose at random
};

// Rows as bytes, for the other ranks.
[[nodiscard]] std::string encode(std::span<const Row> rows);
[[nodiscard]] std::vector<Row> decode(const std::string& text);

// For each row the number of the one in `before` that it is one word longer than, itself if it can
// be; -1 where there is none. A row keeps to its replica, of `per_replica` rows each.
[[nodiscard]] std::vector<int64_t> origins(std::span<const Row> before, std::span<const Row> now,
                                           int64_t per_replica);

}  // namespace penstock
