// runtime/network/layers/library/rotary.h -- the tables of cosines and sines for rotary positions
// (RoPE, Su et al. 2021), which attention layers make once and hand to the function rotary().
//
// What is turned of a head, `depth` elements, is taken as depth / 2 pairs. At place n (position n
// in the row) pair i is turned by the angle n * speed(i); the speeds fall from 1 radian a place for
// pair 0 to nearly 1 / base for the last pair.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/ops/attention.h"

namespace penstock {

struct RotaryOptions {
  // How speeds are changed so that a network reads a longer context than it was first trained with.
  // Linear: every speed is divided by `factor`. Llama3 and Yarn (Peng et al. 2023): only the speeds
  // of slow pairs are. Longrope (Ding et al. 2024): the speed of each pair is divided by a factor
  // of its own. Dynamic: `base` grows with the context.
  enum class Scaling : uint8_t { None, Linear, Llama3, Yarn, Longrope, Dynamic };
  double base = 10000.0;  // speed(i) = base^(-2 i / depth) radians a place, before scaling
  Scaling scaling = Scaling::None;
  double factor = 1.0;
  // Llama3, Yarn: within `original` places, a pair that turns round fewer than `low` times is slow,
  // one that turns round more than `high` times keeps its speed; in between the speed goes linearly
  // from one rule to the other: with the turns (Llama3), or with the number of the pair (Yarn).
  double low = 1.0, high = 4.0;
  int64_t original = 8192;
  bool truncate = true;  // Yarn: the pairs where both rules end are whole numbers, rounded outwards
  // Longrope, Dynamic: the positions of the longest row. Longrope divides by `short_factors` up to
  // `original` positions and by `long_factors` above, a number for each pair; Dynamic leaves speeds
  // as they are up to `original` positions.
  int64_t context = 0;
  std::vector<double> short_factors = {}, long_factors = {};
  // Yarn, Longrope: cosines and sines are multiplied by it; 0: by what the papers say, 0.1
  // ln(factor) + 1 and sqrt(1 + ln(factor) / ln(original)), or 1 where factor is at most 1.
  double attention_factor = 0.0;
  int64_t width = 0;  // the leading elements of each head that are turned; 0: all of them
  RotaryPairs pairs = RotaryPairs::Halves;  // which of them are a pair
};

// What is wrong with the options where `depth` elements of each head are turned, for an error
// message; empty: nothing.
[[nodiscard]] std::string rotary_trouble(const RotaryOptions& options, int64_t depth);

// A text that differs wherever rotary_table() would differ in more than the number of places: by it
// the attention layers of a stage share one table (ParameterSet::add_constant()).
[[nodiscard]] std::string rotary_name(const RotaryOptions& options, int64_t depth);
// The speeds of pairs 0 .. depth / 2 - 1, in radians a place, after scaling.
[[nodiscard]] std::vector<double> rotary_speeds(const RotaryOptions& options, int64_t depth);
// What cosines and sines are multiplied by; 1 unless the scaling is Yarn or Longrope.
[[nodiscard]] double rotary_attention_factor(const RotaryOptions& options);
// The table, [places, depth] row by row: for each place the cosines of the angles of its depth / 2
// pairs, then their sines, times the attention factor.
[[nodiscard]] std::vector<float> rotary_table(const RotaryOptions& options, int64_t places,
                                              int64_t depth);

}  // namespace penstock
