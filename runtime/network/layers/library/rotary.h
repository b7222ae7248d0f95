// runtime/network/layers/library/rotary.h -- rotary positions (Su et al. 2021): the angles by which
// pairs of a head's elements turn from place to place, and the tables that AttentionOps::rotary
// reads. `depth` is the width of a head.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace penstock {

struct RotaryOptions {
  // How a network reads a longer context than it was trained with. Linear: all pairs turn `factor`
  // times more slowly. Llama3: slow pairs do, fast ones do not.
  enum class Scaling : uint8_t { None, Linear, Llama3 };
  double base = 10000.0;  // pair i turns by base^(-2 i / depth) radians from place to place
  Scaling scaling = Scaling::None;
  double factor = 1.0;
  // Llama3: a pair that turns fewer than `low` times within `original` places is slow, one that
  // turns more than `high` times fast; between the two the factor fades out.
  double low = 1.0, high = 4.0;
  int64_t original = 8192;
};

// A table's name: all that it depends on but its number of places, as text.
[[nodiscard]] std::string rotary_name(const RotaryOptions& options, int64_t depth);
// The angles, in radians, by which pairs 0 .. depth / 2 - 1 turn from one place to the next.
[[nodiscard]] std::vector<double> rotary_speeds(const RotaryOptions& options, int64_t depth);
// The table [places, depth]: for each place the cosines of its pairs, then their sines.
[[nodiscard]] std::vector<float> rotary_table(const RotaryOptions& options, int64_t places,
                                              int64_t depth);

}  // namespace penstock
