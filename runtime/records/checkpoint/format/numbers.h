// runtime/records/checkpoint/format/numbers.h -- converts arrays of numbers from the types of
// safetensors files (F32, BF16, F16) to fp32 and back. number_reader.h uses it on what it has read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace penstock {

// The bytes of one number of type `dtype` ("F32", "BF16" or "F16"); 0 for all other types.
[[nodiscard]] size_t number_bytes(const std::string& dtype);

// The value of an F16 number: IEEE 754's 16-bit form.
[[nodiscard]] float float_of_half(uint16_t bits);

// Overwrites `to` with the numbers in `from`, which are to.size() numbers of type `dtype`,
// little-endian. The conversion is exact.
void to_floats(const std::string& dtype, std::span<const std::byte> from, std::span<float> to);
// Overwrites `to` with the numbers of `from` as type `dtype`: "F32", or "BF16", rounded to nearest
// even.
void from_floats(std::span<const float> from, const std::string& dtype, std::span<std::byte> to);

}  // namespace penstock
