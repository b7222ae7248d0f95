// tests/host_cuda/shadow/mma.h -- replaces the toolkit's <mma.h> where device code runs on the
// host: products of 16 x 16 bf16 matrices with fp32 sums. A lane keeps half a row of the sums, and
// the parts of the factors that it needs for them. Lanes read and write memory one after another,
// so a missing barrier shows.
#pragma once

#include <cuda_bf16.h>

#include <cstdint>
#include <string>
#include <type_traits>

#include "tests/host_cuda/block.h"
#include "tests/host_cuda/stop.h"

namespace nvcuda::wmma {

struct matrix_a {};
struct matrix_b {};
struct accumulator {};
struct row_major {};
struct col_major {};
enum layout_t { mem_row_major, mem_col_major };

template <class Use, int m, int n, int k, class T, class Layout = void>
struct fragment;

template <class Layout>
struct fragment<matrix_a, 16, 16, 16, __nv_bfloat16, Layout> {
  float row[16];  // the lane's
};
template <class Layout>
struct fragment<matrix_b, 16, 16, 16, __nv_bfloat16, Layout> {
  float rows[16][8];  // all rows, the lane's columns
};
template <>
struct fragment<accumulator, 16, 16, 16, float, void> {
  static constexpr int num_elements = 8;
  float x[8];
};

namespace host {

inline int row() {
  return penstock::host_cuda::lane() / 2;
}
inline int first_column() {
  return penstock::host_cuda::lane() % 2 * 8;
}

// Stops unless address and stride suit the hardware's loads and stores of whole fragments.
template <class T>
void check(const T* at, unsigned stride) {
  if (reinterpret_cast<uintptr_t>(at) % 32 != 0 || stride * sizeof(T) % 16 != 0) {
    penstock::host_cuda::stop("a matrix of a warp starts at a multiple of " +
                              std::to_string(reinterpret_cast<uintptr_t>(at) % 32) +
                              " (mod 32) bytes, with rows " + std::to_string(stride * sizeof(T)) +
                              " bytes apart");
  }
}

template <class Layout>
size_t offset(int row, int column, unsigned stride) {
  constexpr bool by_rows = std::is_same_v<Layout, row_major>;
  return by_rows ? static_cast<size_t>(row) * stride + static_cast<size_t>(column)
                 : static_cast<size_t>(column) * stride + static_cast<size_t>(row);
}

}  // namespace host

template <class Layout>
void load_matrix_sync(fragment<matrix_a, 16, 16, 16, __nv_bfloat16, Layout>& to,
                      const __nv_bfloat16* from, unsigned stride) {
  host::check(from, stride);
  for (int k = 0; k < 16; ++k) {
    to.row[k] = __bfloat162float(from[host::offset<Layout>(host::row(), k, stride)]);
  }
}

template <class Layout>
void load_matrix_sync(fragment<matrix_b, 16, 16, 16, __nv_bfloat16, Layout>& to,
                      const __nv_bfloat16* from, unsigned stride) {
  host::check(from, stride);
  const int first = host::first_column();
  for (int k = 0; k < 16; ++k) {
    for (int c = 0; c < 8; ++c) {
      to.rows[k][c] = __bfloat162float(from[host::offset<Layout>(k, first + c, stride)]);
    }
  }
}

inline void fill_fragment(fragment<accumulator, 16, 16, 16, float>& to, float value) {
  for (float& x : to.x) x = value;
}

template <class LayoutA, class LayoutB>
void mma_sync(fragment<accumulator, 16, 16, 16, float>& d,
              const fragment<matrix_a, 16, 16, 16, __nv_bfloat16, LayoutA>& a,
              const fragment<matrix_b, 16, 16, 16, __nv_bfloat16, LayoutB>& b,
              const fragment<accumulator, 16, 16, 16, float>& c) {
  fragment<accumulator, 16, 16, 16, float> sums = c;
  for (int k = 0; k < 16; ++k) {
    for (int e = 0; e < 8; ++e) sums.x[e] += a.row[k] * b.rows[k][e];
  }
  d = sums;
}

// Waits for all lanes first, so that a warp whose lanes have diverged is found here.
inline void store_matrix_sync(float* to, const fragment<accumulator, 16, 16, 16, float>& from,
                              unsigned stride, layout_t layout) {
  host::check(to, stride);
  (void)penstock::host_cuda::meet(~0U, 0, "store_matrix_sync", {__FILE__, __LINE__});
  for (int e = 0; e < 8; ++e) {
    const int column = host::first_column() + e;
    const size_t at = layout == mem_row_major
                          ? host::offset<row_major>(host::row(), column, stride)
                          : host::offset<col_major>(host::row(), column, stride);
    to[at] = from.x[e];
  }
}

}  // namespace nvcuda::wmma
