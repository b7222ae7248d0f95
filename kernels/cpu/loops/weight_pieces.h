// kernels/cpu/loops/weight_pieces.h -- how much of a bf16 weight is widened to fp32 at a time
// on a processor without bf16 products. Pure: by shape alone, so that bits repeat.
#pragma once

#include <algorithm>
#include <cstdint>

namespace penstock {

// The columns of a bf16 weight b that are multiplied at once in a product a[m, k] b[k, n]. The fp32
// copy of a classifier would be larger than the weights of a stage; weights of other layers are
// widened whole, up to 64 MiB.
[[nodiscard]] constexpr int64_t piece_columns(int64_t k, int64_t n) {
  constexpr int64_t kMostInAPiece = int64_t{16} << 20;
  constexpr int64_t kVectors = 32;  // whole ones, of any processor
  if (k * n <= kMostInAPiece) return n;
  return std::min(n, std::max(kVectors, kMostInAPiece / k / kVectors * kVectors));
}

}  // namespace penstock
