// kernels/cuda/dense/row_pieces.h -- cuts the product of a linear layer into pieces of some
// thousands of rows where a row of its bf16 outputs (or of their gradients) is no multiple of 16
// bytes: scores of 50,257 words, say. Each piece is computed in scratch memory, whose rows are
// padded to such a multiple, and copied. Otherwise cuBLASLt 13.1 on an H200 runs at a tenth of the
// peak, whatever the stride of the rows. Pure, and used on every machine: the counting device
// forecasts with it.
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

// How a matrix of outputs is cut into pieces of rows.
struct RowPieces {
  int64_t rows = 0;     // in a piece, a multiple of 8; the last may have fewer. 0: nothing is cut
  int64_t columns = 0;  // in a row of scratch memory: whole packs
  [[nodiscard]] int64_t elements() const { return rows * columns; }  // of scratch memory
};

// Returns how outputs [rows, columns] of that type are cut; `rows` of the result is 0 where they
// are not: rows of whole packs, few columns, few elements, or another type than bf16.
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
