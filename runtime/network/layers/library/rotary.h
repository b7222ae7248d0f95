// runtime/network/layers/library/rotary.h -- rotary positions (Su et al. 2021): how fast each pair
// of a head's elements turns from place to place, and the tables that the op reads.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace penstock {

struct RotaryOptions {
  // How the places of a longer context are brought near to those that a network was trained with:
  // all by one factor, or slow pairs by the factor and fast ones not at all (Llama 3).
  enum class Scaling : uint8_t { None, Linear, Llama3 };
  double base = 10000.0;
  Scaling scaling = Scaling::None;
  double factor = 1.0;
  // Llama3: pairs that turn fewer than `low` times within `original` places are slow, those that
  // turn more than `high` times fast, and between them the factor fades out.
  double low = 1.0, high = 4.0;
  int64_t original = 8192;
};

// The name of a table: all that it depends on but its length, as text.
[[nodiscard]] std::string rotary_name(const RotaryOptions& options, int64_t depth);
// The angle, in radians, by which pairs 0 .. depth / 2 - 1 turn from place to place.
[[nodiscard]] std::vector<double> rotary_speeds(const RotaryOptions& options, int64_t depth);
// [places, depth]: the cosines of a place, then its sines, as AttentionOps::rotary reads them.
[[nodiscard]] std::vector<float> rotary_table(const RotaryOptions& options, int64_t places,
                                              int64_t depth);

}  // namespace penstock
