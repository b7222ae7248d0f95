// runtime/records/checkpoint/format/numbers.h -- converts the numbers of safetensors files to fp32
// and back. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace penstock {

// Bytes of one number of a dtype: F32, BF16 or F16; 0 for all others.
[[nodiscard]] size_t number_bytes(const std::string& dtype);

[[nodiscard]] float float_of_half(uint16_t bits);  // IEEE 754's 16-bit form

// Overwrites `to` with the numbers of that dtype in `from`, which are as many. The conversion is
// exact.
void to_floats(const std::string& dtype, std::span<const std::byte> from, std::span<float> to);
// Overwrites `to` with the numbers of `from` as F32 or BF16, rounded to nearest even.
void from_floats(std::span<const float> from, const std::string& dtype, std::span<std::byte> to);

}  // namespace penstock
