// kernels/cuda/dense/row_pieces.h -- how the products of a linear layer are cut whose rows of
// outputs are not whole packs of 16 bytes, such as the scores of a vocabulary of 50,257 words in
// bf16. On an H200 cuBLASLt 13.1 computes such products with an old algorithm, at a tenth of the
// peak, whatever lies between two rows; so outputs go through scratch memory in which a row has
// whole packs, some thousands of rows at a time. Pure, and used on every machine: the counting
// device forecasts with it.
#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/shape.h"

namespace penstock {

inline constexpr int64_t kRowPack = 8;  // elements of bf16 in 16 bytes

// `elements`, rounded up to whole packs.
[[nodiscard]] inline int64_t whole_packs(int64_t elements) {
  return (elements + kRowPack - 1) / kRowPack * kRowPack;
}

// How outputs are cut.
struct RowPieces {
  int64_t rows = 0;     // of a piece, a multiple of 8; the last may have fewer. 0: nothing is cut
  int64_t columns = 0;  // of a row in scratch memory: whole packs
  [[nodiscard]] int64_t elements() const { return rows * columns; }
};

// The pieces of outputs [rows, columns] of that type. The choice depends on these alone.
[[nodiscard]] inline RowPieces row_pieces(int64_t rows, int64_t columns, DType type) {
  constexpr int64_t kLong = 512;                         // below, a copy costs what it saves
  constexpr int64_t kMany = int64_t{1} << 20;            // elements
  constexpr int64_t kMostInAPiece = int64_t{128} << 20;  // of a piece: 256 MiB
  constexpr int64_t kMostRows = 8192;                    // more make no product faster
  if (type != DType::BF16 || columns % kRowPack == 0 || columns < kLong || rows * columns < kMany) {
    return {};
  }
  const int64_t padded = whole_packs(columns);
  const int64_t most = std::clamp(kMostInAPiece / padded, kRowPack, kMostRows);
  const int64_t pieces = (rows + most - 1) / most;
  return {whole_packs((rows + pieces - 1) / pieces), padded};
}

}  // namespace penstock
