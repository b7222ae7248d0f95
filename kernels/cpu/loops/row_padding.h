// kernels/cpu/loops/row_padding.h -- which operands of a linear layer's products are read from a
// copy with longer rows, on a processor without AVX-512. Pure: by shape alone, so that bits repeat.
//
// Without AVX-512 oneDNN 2.6 reads the operands of a product [m, k] [k, n] where they lie if m or n
// is small. Rows that are a multiple of 2 KiB apart then fall on the same few lines of the cache.
// On a Zen 3 (peak 88 GFLOP/s) the weight gradient of 1024 rows, 256 -> 1024 columns, went from 20
// to 58 GFLOP/s with its copy counted, the input gradient of 128 rows, 512 -> 2048 columns, from 48
// to 76 with its copy not counted. Nothing is gained by copying rows of x in y = x w^T, nor where m
// and n are both large: the library then copies the operands itself.
#pragma once

#include <cstdint>

namespace penstock {

// The number of elements by which a padded row is longer.
constexpr int64_t kRowPadding = 16;

// The three products of a linear layer y = x w^T, with g the gradient of y: y = x w^T, dx = g w, dw
// = g^T x.
enum class LinearProduct : uint8_t { Forward, InputGradient, WeightGradient };

// Says of the operands of a product a b = c which are read from copies with padded rows.
struct PaddedOperands {
  bool a = false, b = false;
};

// Returns that for one of the three products of a linear layer y[rows, out] = x[rows, in] w[out,
// in]^T: a and b are x and w^T in the forward, g and w in the input gradient, g^T and x in the
// weight gradient, where g is the gradient of y.
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
