// tests/host_cuda/matmul.h -- multiply(): what one call of cublasLtMatmul computes, on the CPU, for
// the emulation of CUDA (README.md).
#pragma once

#include <cublasLt.h>

#include <cstdint>

#include "tests/host_cuda/element.h"

namespace penstock::host_cuda {

// A matrix in memory: element (row, column) of batch b is at row * by_row + column * by_column +
// b * by_batch.
struct Matrix {
  Element type = Element::Float;
  int64_t rows = 0, columns = 0;
  int64_t by_row = 1, by_column = 0, by_batch = 0;
  [[nodiscard]] Matrix transposed() const {
    return {type, columns, rows, by_column, by_row, by_batch};
  }
  // Bytes from the first to behind the last element.
  [[nodiscard]] size_t extent(int64_t batch) const;
};

// A vector that the epilogue reads or writes.
struct Vector {
  void* data = nullptr;
  Element type = Element::Float;
  int64_t by_batch = 0;
};

// d = epilogue(alpha a b + beta c); a and b are the factors, after transposing where that is asked.
// d is overwritten.
struct Matmul {
  Matrix a, b, c, d;
  const void* a_data = nullptr;
  const void* b_data = nullptr;
  const void* c_data = nullptr;
  void* d_data = nullptr;
  int64_t batch = 1;
  float alpha = 1, beta = 0;
  uint32_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  Vector bias;  // the bias, or where its gradient goes
  Vector aux;   // the epilogue's auxiliary matrix
  int64_t aux_ld = 0;
  bool tf32 = false;
  void* workspace = nullptr;
  size_t workspace_bytes = 0;
};

void multiply(const Matmul& product);

}  // namespace penstock::host_cuda
