// kernels/cpu/loops/row_padding.h -- which operands of a linear layer's products are read from a
// copy with longer rows, on a processor without AVX-512. Pure: by shape alone, so that bits repeat.
//
// Without AVX-512 oneDNN 2.6 multiplies matrices that are narrow one way where they lie, and rows
// that are a multiple of 2 KiB apart fall on the same few lines of the cache. On a Zen 3 (peak 88
// GFLOP/s) the weight gradient of 1024 rows, 256 -> 1024, went from 20 to 58 GFLOP/s with its copy
// counted, the input gradient of 128 rows, 512 -> 2048, from 48 to 76 with its copy not counted.
// Nothing is gained by copying rows of x in y = x w^T, nor where both ways are long: those the
// library copies itself.
#pragma once

#include <cstdint>

namespace penstock {

// The number of elements by which a padded row is longer.
constexpr int64_t kRowPadding = 16;

enum class LinearProduct : uint8_t { Forward, InputGradient, WeightGradient };

// The operands of a product a b = c that are read from padded copies.
struct PaddedOperands {
  bool a = false, b = false;
};

// The padded operands of y[rows, out] = x[rows, in] w[out, in]^T and its gradients, of which
// linear_plans.h says what a and b are.
[[nodiscard]] constexpr PaddedOperands padded_operands(LinearProduct product, int64_t rows,
                                                       int64_t in, int64_t out) {
  const int64_t m = product == LinearProduct::WeightGradient ? out : rows;
  const int64_t n = product == LinearProduct::Forward ? out : in;
  // 1 / m + 1 / n > 0.0038, the library's own bound for what it multiplies in place.
  const bool in_place = 10'000 * (m + n) > 38 * m * n;
  // An operand whose elements are used less often is not worth its copy.
  constexpr int64_t kUses = 64;
  const auto pads = [&](int64_t row, int64_t uses) {
    return in_place && row % 512 == 0 && uses >= kUses;
  };
  if (product == LinearProduct::WeightGradient) return {pads(out, in), pads(in, out)};
  return {false, pads(in, rows)};
}

}  // namespace penstock
