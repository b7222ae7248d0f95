// kernels/cpu/loops/lanes.h -- as many fp32 numbers at a time as a register of the processor holds,
// as a vector type of the compiler. For loops whose running values must stay in registers: the
// compiler does not keep arrays there, nor longer vectors, whose lanes GCC 12 compares one by one.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>

#include "kernels/bfloat16.h"

namespace penstock {

// All functions here are inlined, and no vector is ever passed to another translation unit: for the
// rest of a file that includes this, GCC need not warn that processors differ in how they pass
// vectors.
#pragma GCC diagnostic ignored "-Wpsabi"

inline constexpr int64_t kLanes =
#if defined(__AVX512F__)
    16;
#elif defined(__AVX2__)
    8;
#else
    4;
#endif
using FloatLanes = float __attribute__((vector_size(4 * kLanes)));
using IntLanes = int32_t __attribute__((vector_size(4 * kLanes)));
using BitLanes = uint32_t __attribute__((vector_size(4 * kLanes)));
using HalfLanes = uint16_t __attribute__((vector_size(2 * kLanes)));

// Loads the first `count` of kLanes numbers; the others are zero.
[[gnu::always_inline]] inline FloatLanes load_lanes(const float* from, int64_t count = kLanes) {
  FloatLanes lanes{};
  std::memcpy(&lanes, from, static_cast<size_t>(count) * sizeof(float));
  return lanes;
}
[[gnu::always_inline]] inline IntLanes load_lanes(const int32_t* from, int64_t count = kLanes) {
  IntLanes lanes{};
  std::memcpy(&lanes, from, static_cast<size_t>(count) * sizeof(int32_t));
  return lanes;
}
[[gnu::always_inline]] inline FloatLanes load_lanes(const bfloat16* from, int64_t count = kLanes) {
  HalfLanes halves{};
  std::memcpy(&halves, from, static_cast<size_t>(count) * sizeof(bfloat16));
  return std::bit_cast<FloatLanes>(__builtin_convertvector(halves, BitLanes) << 16);
}

// Stores the first `count` of kLanes numbers.
[[gnu::always_inline]] inline void store_lanes(float* to, const FloatLanes& lanes,
                                               int64_t count = kLanes) {
  std::memcpy(to, &lanes, static_cast<size_t>(count) * sizeof(float));
}
[[gnu::always_inline]] inline void store_lanes(int32_t* to, const IntLanes& lanes,
                                               int64_t count = kLanes) {
  std::memcpy(to, &lanes, static_cast<size_t>(count) * sizeof(int32_t));
}
// All bits set in each lane whose number is NaN, none in the others.
[[gnu::always_inline]] inline IntLanes nan_lanes(const FloatLanes& lanes) {
  return lanes != lanes;  // NOLINT(misc-redundant-expression)
}

// Stores the first `count` of kLanes numbers, rounded as bfloat16(float) does.
[[gnu::always_inline]] inline void store_lanes(bfloat16* to, const FloatLanes& lanes,
                                               int64_t count = kLanes) {
  const auto words = std::bit_cast<BitLanes>(lanes);
  const BitLanes rounded = (words + (0x7fffU + ((words >> 16) & 1U))) >> 16;
  const BitLanes nan = (words >> 16) | 0x40U;
  const auto halves = __builtin_convertvector(nan_lanes(lanes) ? nan : rounded, HalfLanes);
  std::memcpy(&to->bits, &halves, static_cast<size_t>(count) * sizeof(bfloat16));
}

}  // namespace penstock
