// tests/host_cuda/shadow/mma.h -- in the place of the toolkit's <mma.h>: products of 16 x 16 tiles
// of bf16 by a warp. A lane holds what it needs for its own half row of the sums; nothing here
// waits for other lanes, so that a __syncwarp() that a kernel forgot is missed.
#pragma once

#include <cuda_bf16.h>

#include "tests/host_cuda/block.h"

namespace nvcuda::wmma {

struct matrix_a {};
struct matrix_b {};
struct accumulator {};
struct row_major {};
struct col_major {};
enum layout_t { mem_row_major, mem_col_major };

inline constexpr int kSide = 16;
inline constexpr int kOwned = kSide / 2;  // columns of one row of sums

inline int own_row() {
  return penstock::host_cuda::lane() / 2;
}
inline int first_own_column() {
  return penstock::host_cuda::lane() % 2 * kOwned;
}

template <class Use, int kM, int kN, int kK, class T, class Layout = void>
struct fragment;

template <class T, class Layout>
struct fragment<matrix_a, kSide, kSide, kSide, T, Layout> {
  float x[kSide];  // of the lane's own row
};
template <class T, class Layout>
struct fragment<matrix_b, kSide, kSide, kSide, T, Layout> {
  float x[kSide][kOwned];  // of the lane's own columns
};
template <>
struct fragment<accumulator, kSide, kSide, kSide, float> {
  float x[kOwned];
};

inline void fill_fragment(fragment<accumulator, kSide, kSide, kSide, float>& sums, float value) {
  for (float& x : sums.x) x = value;
}

inline void check_tile(const void* at, size_t stride_bytes) {
  if (reinterpret_cast<uintptr_t>(at) % 32 != 0 || stride_bytes % 16 != 0) {
    throw std::runtime_error("a matrix tile that a warp loads or stores is not aligned");
  }
}

template <class Layout>
int64_t place(int row, int column, unsigned stride) {
  return std::is_same_v<Layout, row_major> ? int64_t{row} * stride + column
                                           : int64_t{column} * stride + row;
}

template <class T, class Layout>
void load_matrix_sync(fragment<matrix_a, kSide, kSide, kSide, T, Layout>& a, const T* from,
                      unsigned stride) {
  check_tile(from, stride * sizeof(T));
  for (int k = 0; k < kSide; ++k) a.x[k] = from[place<Layout>(own_row(), k, stride)];
}
template <class T, class Layout>
void load_matrix_sync(fragment<matrix_b, kSide, kSide, kSide, T, Layout>& b, const T* from,
                      unsigned stride) {
  check_tile(from, stride * sizeof(T));
  for (int k = 0; k < kSide; ++k) {
    for (int c = 0; c < kOwned; ++c) {
      b.x[k][c] = from[place<Layout>(k, first_own_column() + c, stride)];
    }
  }
}

template <class T, class LayoutA, class LayoutB>
void mma_sync(fragment<accumulator, kSide, kSide, kSide, float>& d,
              const fragment<matrix_a, kSide, kSide, kSide, T, LayoutA>& a,
              const fragment<matrix_b, kSide, kSide, kSide, T, LayoutB>& b,
              const fragment<accumulator, kSide, kSide, kSide, float>& c) {
  d = c;
  for (int k = 0; k < kSide; ++k) {
    for (int i = 0; i < kOwned; ++i) d.x[i] += a.x[k] * b.x[k][i];
  }
}

inline void store_matrix_sync(float* to,
                              const fragment<accumulator, kSide, kSide, kSide, float>& sums,
                              unsigned stride, layout_t layout) {
  check_tile(to, stride * sizeof(float));
  for (int i = 0; i < kOwned; ++i) {
    const int column = first_own_column() + i;
    const int64_t at = layout == mem_row_major ? place<row_major>(own_row(), column, stride)
                                               : place<col_major>(own_row(), column, stride);
    to[at] = sums.x[i];
  }
}

}  // namespace nvcuda::wmma
