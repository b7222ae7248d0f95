// kernels/cuda/families/experts.cu -- the products of each expert with its own rows, on tensor
// cores for bf16.
//
// A block computes kSide x kSide numbers of a result, kDepth terms at a time, in fp32. Which expert
// a block belongs to follows from the offsets, which it reads on the device: the launch has as many
// blocks as any routing could need, and those that are left over end at once. So a CUDA graph fits
// every routing. (Grouped products of cuBLAS take their sizes from the host.)
#include "kernels/checks.h"
#include "kernels/cuda/families/experts.h"
#include "kernels/cuda/loops/strip.h"
#include "kernels/cuda/loops/vector.h"
#include "kernels/cuda/queue/launch.h"

namespace penstock {
namespace {

constexpr int kSide = 64;
constexpr int kDepth = 32;
constexpr int kTileWarps = 8;  // each has kStripRows rows and kStripColumns columns of the tile
constexpr int kTileThreads = 32 * kTileWarps;
constexpr int kStripColumns = kSide * kSide / (kTileWarps * kStripRows);
constexpr int kStagingStride = kStripColumns + 4;

// A factor of a product in memory: a dense matrix [rows, columns] of elements S, of which a thread
// reads as many as 16 bytes of the product's type hold at once where `wide` allows it.
template <class S>
struct Factor {
  const S* first;
  int64_t rows, columns;
  bool wide;
};

// A part of a factor in shared memory, with elements of the product's type T. Rows are kept 16
// bytes further apart than they are long, so that eight of them side by side hit all banks once.
template <class T, int kRows, int kColumns>
struct Panel {
  static constexpr int kPack = kGroup<T>;
  static constexpr int kStride = kColumns + kPack;
  // Words, since nothing in shared memory may initialise itself, as a bfloat16 does.
  alignas(32) uint32_t words[kRows * kStride * sizeof(T) / sizeof(uint32_t)];
  __device__ T* at() { return reinterpret_cast<T*>(words); }

  // Copies the part from (top, left) on, rounded to T; what lies beyond the factor becomes 0. All
  // threads of the block must call it.
  template <class S>
  __device__ void fill(const Factor<S>& factor, int64_t top, int64_t left) {
    constexpr int kPacks = kColumns / kPack;
    for (auto i = static_cast<int>(threadIdx.x); i < kRows * kPacks; i += kTileThreads) {
      const int row = i / kPacks;
      const int column = i % kPacks * kPack;
      const int64_t inside = top + row < factor.rows ? factor.columns - left - column : 0;
      const S* from = factor.first + (top + row) * factor.columns + left + column;
      Floats<kPack> pack{};
      if (factor.wide && inside >= kPack) {
        pack = load<kPack>(from);
      } else {
        for (int e = 0; e < kPack; ++e) {
          if (e < inside) pack[e] = widened(from[e]);
        }
      }
      store<kPack>(at() + row * kStride + column, pack);
    }
  }
};

// Calls store(i, j, sum over k < terms of a(i, k) b(k, j)) for the kSide x kSide numbers from
// (top, left) on, those beside the matrices, too. a is a factor [rows, terms], or with kLeftTurned
// [terms, rows]; b is [terms, columns], or with kRightTurned [columns, terms]. All threads of the
// block must call it.
template <class T, bool kLeftTurned, bool kRightTurned, class A, class B, class Store>
__device__ void multiply_tile(int64_t top, int64_t left, int64_t terms, const Factor<A>& a,
                              const Factor<B>& b, const Store& store) {
  using Left = Panel<T, kLeftTurned ? kDepth : kSide, kLeftTurned ? kSide : kDepth>;
  using Right = Panel<T, kRightTurned ? kSide : kDepth, kRightTurned ? kDepth : kSide>;
  __shared__ Left of_a;
  __shared__ Right of_b;
  alignas(32) __shared__ float staging[kTileWarps][kStripRows * kStagingStride];
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int row = warp % (kSide / kStripRows) * kStripRows;
  const int column = warp / (kSide / kStripRows) * kStripColumns;
  Strip<T, kStripColumns> sums;
  for (int64_t begin = 0; begin < terms; begin += kDepth) {
    of_a.fill(a, kLeftTurned ? begin : top, kLeftTurned ? top : begin);
    of_b.fill(b, kRightTurned ? left : begin, kRightTurned ? begin : left);
    __syncthreads();
    sums.template add<kDepth, kRightTurned, kLeftTurned>(
        of_a.at() + (kLeftTurned ? row : row * Left::kStride), Left::kStride,
        of_b.at() + (kRightTurned ? column * Right::kStride : column), Right::kStride);
    __syncthreads();
  }
  sums.store(staging[warp], kStagingStride);
  __syncwarp();
  for (int i = lane; i < kStripRows * kStripColumns; i += 32) {
    const int r = i / kStripColumns;
    const int c = i % kStripColumns;
    store(top + row + r, left + column + c, staging[warp][r * kStagingStride + c]);
  }
}

// y[i, n] = sum over k of x[i, k] w(k, n), w[e, n, k] if kTransposed, else w[e, k, n]; `wide` as in
// Factor, of x and of w.
template <class T, class W, bool kTransposed>
__global__ void __launch_bounds__(kTileThreads)
    multiply_rows_kernel(T* y, const T* x, const W* w, const int32_t* offsets, int64_t experts,
                         int64_t terms, int64_t columns, bool x_wide, bool w_wide) {
  // blockIdx.x is the number of a tile of rows, counted through the experts.
  int64_t tile = blockIdx.x;
  int64_t expert = 0;
  for (; expert < experts; ++expert) {
    const int64_t tiles = (offsets[expert + 1] - offsets[expert] + kSide - 1) / kSide;
    if (tile < tiles) break;
    tile -= tiles;
  }
  if (expert == experts) return;
  const int64_t end = offsets[expert + 1];
  const W* weight = w + expert * terms * columns;
  multiply_tile<T, false, kTransposed>(
      offsets[expert] + tile * kSide, int64_t{blockIdx.y} * kSide, terms,
      Factor<T>{x, end, terms, x_wide},
      Factor<W>{weight, kTransposed ? columns : terms, kTransposed ? terms : columns, w_wide},
      [=](int64_t i, int64_t n, float sum) {
        if (i < end && n < columns) narrow_to(y + i * columns + n, sum);
      });
}

// dw[e, o, i] = (accumulate ? dw : 0) + sum over the rows r of expert e of g[r, o] x[r, i].
template <class T>
__global__ void __launch_bounds__(kTileThreads)
    weight_gradient_kernel(float* dw, const T* x, const T* g, const int32_t* offsets, int64_t in,
                           int64_t out, bool x_wide, bool g_wide, bool accumulate) {
  const int64_t expert = blockIdx.z;
  const int64_t first = offsets[expert];
  const int64_t rows = offsets[expert + 1] - first;
  if (rows == 0 && accumulate) return;
  float* to = dw + expert * out * in;
  multiply_tile<T, true, false>(int64_t{blockIdx.y} * kSide, int64_t{blockIdx.x} * kSide, rows,
                                Factor<T>{g + first * out, rows, out, g_wide},
                                Factor<T>{x + first * in, rows, in, x_wide},
                                [=](int64_t o, int64_t i, float sum) {
                                  if (o >= out || i >= in) return;
                                  to[o * in + i] = (accumulate ? to[o * in + i] : 0.0F) + sum;
                                });
}

// Whether kGroup<T> elements of S can be read at once wherever a row of `columns` elements has
// them.
template <class T, class S>
bool is_wide(const S* first, int64_t columns) {
  return columns % kGroup<T> == 0 && is_aligned<kGroup<T>>(first);
}

template <bool kTransposed>
void multiply_rows(CudaContext& context, Tensor& y, const Tensor& x, const Tensor& w,
                   const Tensor& offsets, const GroupedSizes& sizes) {
  const int64_t terms = kTransposed ? sizes.in : sizes.out;
  const int64_t columns = kTransposed ? sizes.out : sizes.in;
  if (sizes.rows == 0) return;
  const LaunchShape shape{
      .grid = {blocks_for(sizes.rows, kSide) + static_cast<uint32_t>(sizes.experts),
               blocks_for(columns, kSide)},
      .block = {kTileThreads}};
  with_element_type(x.dtype(), "a grouped product", [&]<class T>(T) {
    const auto run = [&]<class W>(const W* weights) {
      launch(context.queue, &multiply_rows_kernel<T, W, kTransposed>, shape, y.data<T>(),
             x.data<T>(), weights, offsets.data<int32_t>(), sizes.experts, terms, columns,
             is_wide<T>(x.data<T>(), terms), is_wide<T>(weights, sizes.in));
    };
    if (w.dtype() == x.dtype()) return run(w.data<const T>());
    run(w.data<const float>());
  });
}

}  // namespace

void grouped_forward(CudaContext& context, Tensor& y, const Tensor& x, const Tensor& w,
                     const Tensor& offsets, const GroupedSizes& sizes) {
  multiply_rows<true>(context, y, x, w, offsets, sizes);
}

void grouped_backward_input(CudaContext& context, Tensor& dx, const Tensor& g, const Tensor& w,
                            const Tensor& offsets, const GroupedSizes& sizes) {
  multiply_rows<false>(context, dx, g, w, offsets, sizes);
}

void grouped_backward_weight(CudaContext& context, Tensor& dw, const Tensor& x, const Tensor& g,
                             const Tensor& offsets, bool accumulate, const GroupedSizes& sizes) {
  const LaunchShape shape{.grid = {blocks_for(sizes.in, kSide), blocks_for(sizes.out, kSide),
                                   static_cast<uint32_t>(sizes.experts)},
                          .block = {kTileThreads}};
  with_element_type(x.dtype(), "a grouped product", [&]<class T>(T) {
    launch(context.queue, &weight_gradient_kernel<T>, shape, dw.data<float>(), x.data<T>(),
           g.data<T>(), offsets.data<int32_t>(), sizes.in, sizes.out,
           is_wide<T>(x.data<T>(), sizes.in), is_wide<T>(g.data<T>(), sizes.out), accumulate);
  });
}

}  // namespace penstock
