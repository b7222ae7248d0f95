// kernels/bfloat16.h -- bfloat16, the 16-bit brain float: the upper half of an fp32. A float
// becomes one by rounding to nearest even (NaN stays NaN), and it becomes a float again exactly.
// Both conversions are implicit.
#pragma once

#include <bit>
#include <cstdint>

namespace penstock {

struct bfloat16 {
  uint16_t bits = 0;

  bfloat16() = default;
  constexpr bfloat16(float value) {  // NOLINT(google-explicit-constructor): a number, as float is
    const auto word = std::bit_cast<uint32_t>(value);
    const bool nan = (word & 0x7fffffffU) > 0x7f800000U;
    const uint32_t rounding = 0x7fffU + ((word >> 16) & 1U);
    bits = nan ? static_cast<uint16_t>((word >> 16) | 0x40U)
               : static_cast<uint16_t>((word + rounding) >> 16);
  }
  constexpr operator float() const {  // NOLINT(google-explicit-constructor)
    return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
  }
};
static_assert(sizeof(bfloat16) == 2);

}  // namespace penstock
