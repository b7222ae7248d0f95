// kernels/cpu/loops/weight_pieces.h -- how much of a bf16 weight is widened to fp32 at a time
// on a processor without bf16 products. Pure: by shape alone, so that bits repeat.
#pragma once

#include <algorithm>
#include <cstdint>

namespace penstock {

// Returns how many columns of a bf16 weight b are widened and multiplied at a time in a product
// a[m, k] b[k, n]: all of them where the fp32 copy is at most 64 MiB, as for the weights of most
// layers, else as many as make 64 MiB. The whole fp32 copy of a classifier would be larger than the
// weights of a stage.
[[nodiscard]] constexpr int64_t piece_columns(int64_t k, int64_t n) {
  constexpr int64_t kMostInAPiece = int64_t{16} << 20;
  constexpr int64_t kVectors = 32;  // whole ones, of any processor
  if (k * n <= kMostInAPiece) return n;
  return std::min(n, std::max(kVectors, kMostInAPiece / k / kVectors * kVectors));
}

}  // namespace penstock
