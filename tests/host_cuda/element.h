// tests/host_cuda/element.h -- reads and writes fp32 and bf16 elements as floats, for the emulated
// cuBLASLt and cuDNN.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

namespace penstock::host_cuda {

enum class Element : uint8_t { Float, Bfloat16 };

inline size_t size_of(Element type) {
  return type == Element::Float ? sizeof(float) : sizeof(uint16_t);
}

inline float load(Element type, const void* from, int64_t at) {
  if (type == Element::Float) return static_cast<const float*>(from)[at];
  return std::bit_cast<float>(uint32_t{static_cast<const uint16_t*>(from)[at]} << 16);
}

// Rounds to bf16 to nearest, ties to even.
inline void store(Element type, void* to, int64_t at, float value) {
  if (type == Element::Float) {
    static_cast<float*>(to)[at] = value;
    return;
  }
  const auto bits = std::bit_cast<uint32_t>(value);
  const uint32_t rounded = value != value ? bits | 0x400000U : bits + 0x7fffU + (bits >> 16 & 1U);
  static_cast<uint16_t*>(to)[at] = static_cast<uint16_t>(rounded >> 16);
}

// What a tensor core makes of a float where TF32 is allowed: ten bits of mantissa.
inline float as_tf32(float value) {
  return std::bit_cast<float>(std::bit_cast<uint32_t>(value) & 0xffffe000U);
}

}  // namespace penstock::host_cuda
