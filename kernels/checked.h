// kernels/checked.h -- sums and products of untrusted numbers, such as those of a file: null where
// the result does not fit, so that no size wraps round to a small one.
#pragma once

#include <concepts>
#include <optional>

namespace penstock {

// a + b; null where it does not fit.
template <std::integral Value>
[[nodiscard]] constexpr std::optional<Value> checked_sum(Value a, Value b) {
  Value sum = 0;
  if (__builtin_add_overflow(a, b, &sum)) return std::nullopt;
  return sum;
}

// a * b; null where it does not fit.
template <std::integral Value>
[[nodiscard]] constexpr std::optional<Value> checked_product(Value a, Value b) {
  Value product = 0;
  if (__builtin_mul_overflow(a, b, &product)) return std::nullopt;
  return product;
}

}  // namespace penstock
