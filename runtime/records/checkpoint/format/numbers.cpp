#include "runtime/records/checkpoint/format/numbers.h"

#include <bit>
#include <cstring>

#include "kernels/bfloat16.h"
#include "kernels/error.h"

namespace penstock {
namespace {

uint16_t word_at(std::span<const std::byte> bytes, size_t index) {
  uint16_t word = 0;
  std::memcpy(&word, bytes.data() + index * sizeof(word), sizeof(word));
  return word;
}

}  // namespace

size_t number_bytes(const std::string& dtype) {
  if (dtype == "F32") return sizeof(float);
  return dtype == "BF16" || dtype == "F16" ? sizeof(uint16_t) : 0;
}

float float_of_half(uint16_t bits) {
  const uint32_t sign = (bits & 0x8000U) << 16;
  const uint32_t exponent = (bits >> 10) & 0x1FU;
  uint32_t fraction = bits & 0x3FFU;
  if (exponent == 0x1FU) return std::bit_cast<float>(sign | 0x7F800000U | fraction << 13);
  if (exponent != 0) return std::bit_cast<float>(sign | (exponent + 112) << 23 | fraction << 13);
  // The number is zero or has no implicit leading one. It is fraction x 2^-24, which fp32 holds
  // exactly.
  const float small = static_cast<float>(fraction) * 0x1p-24F;
  return sign != 0 ? -small : small;
}

void to_floats(const std::string& dtype, std::span<const std::byte> from, std::span<float> to) {
  if (dtype == "F32") {
    std::memcpy(to.data(), from.data(), to.size_bytes());
  } else if (dtype == "BF16") {
    for (size_t i = 0; i < to.size(); ++i) {
      to[i] = std::bit_cast<float>(uint32_t{word_at(from, i)} << 16);
    }
  } else if (dtype == "F16") {
    for (size_t i = 0; i < to.size(); ++i) to[i] = float_of_half(word_at(from, i));
  } else {
    fail_internal("numbers of type " + dtype + " were not refused");
  }
}

void from_floats(std::span<const float> from, const std::string& dtype, std::span<std::byte> to) {
  if (dtype == "F32") {
    std::memcpy(to.data(), from.data(), from.size_bytes());
  } else if (dtype == "BF16") {
    for (size_t i = 0; i < from.size(); ++i) {
      const bfloat16 rounded(from[i]);
      std::memcpy(to.data() + i * sizeof(rounded.bits), &rounded.bits, sizeof(rounded.bits));
    }
  } else {
    fail_internal("no folder is written in " + dtype);
  }
}

}  // namespace penstock
