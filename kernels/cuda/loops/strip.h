// kernels/cuda/loops/strip.h -- matrix products of one warp between tiles in shared
// memory: on tensor cores for bf16, with fused multiply-adds for fp32. For .cu files.
#pragma once

#include <mma.h>

#include <type_traits>

#include "kernels/bfloat16.h"

namespace penstock {

inline constexpr int kStripRows = 16;

// A strip: a matrix of kStripRows x kColumns fp32 sums of a warp, spread over the registers of its
// lanes; at first all are 0. T, bfloat16 or float, is the type of the elements of a and b. kColumns
// and kInner are multiples of 16. All 32 lanes must call every member with the same arguments.
//   add<kInner, kTransposed, kLeftTransposed>(a, a_stride, b, b_stride) adds the product a b to the
//     sums, with a [kStripRows, kInner] and b [kInner, kColumns]; with kTransposed b lies in memory
//     as [kColumns, kInner], with kLeftTransposed a lies as [kInner, kStripRows]. A stride is the
//     number of elements from one row in memory to the next.
//   store(to, stride) overwrites the matrix `to`, [kStripRows, kColumns] of fp32, with the sums; a
//     row begins `stride` floats behind the row before it.
// The matrices a, b and `to` are in shared memory. Each begins at a multiple of 32 bytes, each of
// their rows at a multiple of 16 bytes.
template <class T, int kColumns>
class Strip;

template <int kColumns>
class Strip<bfloat16, kColumns> {
  static constexpr int kSide = 16;
  using Element = __nv_bfloat16;
  using Sums = nvcuda::wmma::fragment<nvcuda::wmma::accumulator, kSide, kSide, kSide, float>;
  template <bool kTransposed>
  using Layout = std::conditional_t<kTransposed, nvcuda::wmma::col_major, nvcuda::wmma::row_major>;
  template <bool kTransposed>
  using Left = nvcuda::wmma::fragment<nvcuda::wmma::matrix_a, kSide, kSide, kSide, Element,
                                      Layout<kTransposed>>;
  template <bool kTransposed>
  using Right = nvcuda::wmma::fragment<nvcuda::wmma::matrix_b, kSide, kSide, kSide, Element,
                                       Layout<kTransposed>>;

 public:
  __device__ Strip() {
#pragma unroll
    for (int t = 0; t < kTiles; ++t) nvcuda::wmma::fill_fragment(sums_[t], 0.0F);
  }

  template <int kInner, bool kTransposed, bool kLeftTransposed = false>
  __device__ void add(const bfloat16* a, int a_stride, const bfloat16* b, int b_stride) {
    const auto* left_at = reinterpret_cast<const Element*>(a);
    const auto* right_at = reinterpret_cast<const Element*>(b);
#pragma unroll
    for (int k = 0; k < kInner; k += kSide) {
      Left<kLeftTransposed> left;
      nvcuda::wmma::load_matrix_sync(left, left_at + (kLeftTransposed ? k * a_stride : k),
                                     a_stride);
#pragma unroll
      for (int t = 0; t < kTiles; ++t) {
        const int column = t * kSide;
        Right<kTransposed> right;
        nvcuda::wmma::load_matrix_sync(
            right, right_at + (kTransposed ? column * b_stride + k : k * b_stride + column),
            b_stride);
        nvcuda::wmma::mma_sync(sums_[t], left, right, sums_[t]);
      }
    }
  }

  __device__ void store(float* to, int stride) const {
#pragma unroll
    for (int t = 0; t < kTiles; ++t) {
      nvcuda::wmma::store_matrix_sync(to + t * kSide, sums_[t], stride,
                                      nvcuda::wmma::mem_row_major);
    }
  }

 private:
  static constexpr int kTiles = kColumns / kSide;
  Sums sums_[kTiles];
};

// A lane owns the sums of four neighbouring rows in every eighth column. Eight lanes then read
// neighbouring elements of b, and the four groups of eight lanes, which own different rows, read
// the same ones.
template <int kColumns>
class Strip<float, kColumns> {
 public:
  template <int kInner, bool kTransposed, bool kLeftTransposed = false>
  __device__ void add(const float* a, int a_stride, const float* b, int b_stride) {
#pragma unroll 4
    for (int k = 0; k < kInner; ++k) {
      float left[kRows];
#pragma unroll
      for (int r = 0; r < kRows; ++r) {
        const int row = first_row() + r;
        left[r] = a[kLeftTransposed ? k * a_stride + row : row * a_stride + k];
      }
#pragma unroll
      for (int c = 0; c < kOwned; ++c) {
        const int column = first_column() + c * kLanes;
        const float right = b[kTransposed ? column * b_stride + k : k * b_stride + column];
#pragma unroll
        for (int r = 0; r < kRows; ++r) sums_[r][c] = fmaf(left[r], right, sums_[r][c]);
      }
    }
  }

  __device__ void store(float* to, int stride) const {
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
#pragma unroll
      for (int c = 0; c < kOwned; ++c) {
        to[(first_row() + r) * stride + first_column() + c * kLanes] = sums_[r][c];
      }
    }
  }

 private:
  static constexpr int kRows = 4;
  static constexpr int kLanes = 8;  // lanes that share a row
  static constexpr int kOwned = kColumns / kLanes;

  static __device__ int first_row() {
    return static_cast<int>(threadIdx.x) % 32 / kLanes * kRows;
  }
  static __device__ int first_column() {
    return static_cast<int>(threadIdx.x) % kLanes;
  }

  float sums_[kRows][kOwned] = {};
};

}  // namespace penstock
