// kernels/cuda/families/experts.cu -- the products of each expert with its own rows.
//
// A block computes kSide x kSide numbers of a result, kDepth terms at a time, in fp32. Which expert
// a block belongs to follows from the offsets, which it reads on the device: the launch has as many
// blocks as any routing could need, and those that are left over end at once. So a CUDA graph fits
// every routing.
#include "kernels/checks.h"
#include "kernels/cuda/families/experts.h"
#include "kernels/cuda/loops/vector.h"
#include "kernels/cuda/queue/launch.h"

namespace penstock {
namespace {

constexpr int kSide = 64;
constexpr int kDepth = 16;
constexpr int kTileThreads = 256;  // 16 x 16, each with kOwn x kOwn numbers
constexpr int kOwn = kSide / 16;   // 16 apart, so that neighbours read neighbours
constexpr int kLoads = kSide * kDepth / kTileThreads;

// Calls store(i, j, sum of a(i, k) b(k, j) over k < terms) for the kSide x kSide numbers from
// (top, left) on. a, b and store are asked for numbers beside the matrices, too: a and b must give
// 0 there. All threads of the block must call it.
template <class A, class B, class Store>
__device__ void multiply_tile(int64_t top, int64_t left, int64_t terms, const A& a, const B& b,
                              const Store& store) {
  __shared__ float of_a[kDepth][kSide + 1];
  __shared__ float of_b[kDepth][kSide + 1];
  const auto thread = static_cast<int>(threadIdx.x);
  const int row = thread / 16;
  const int column = thread % 16;
  float sums[kOwn][kOwn] = {};
  for (int64_t begin = 0; begin < terms; begin += kDepth) {
    for (int i = 0; i < kLoads; ++i) {
      const int at = thread + i * kTileThreads;
      of_a[at % kDepth][at / kDepth] = a(top + at / kDepth, begin + at % kDepth);
      of_b[at / kSide][at % kSide] = b(begin + at / kSide, left + at % kSide);
    }
    __syncthreads();
    for (int k = 0; k < kDepth; ++k) {
      for (int i = 0; i < kOwn; ++i) {
        for (int j = 0; j < kOwn; ++j) {
          sums[i][j] += of_a[k][row + 16 * i] * of_b[k][column + 16 * j];
        }
      }
    }
    __syncthreads();
  }
  for (int i = 0; i < kOwn; ++i) {
    for (int j = 0; j < kOwn; ++j) store(top + row + 16 * i, left + column + 16 * j, sums[i][j]);
  }
}

// The number of a weight as the product reads it: rounded to the type T of the rows.
template <class T, class W>
__device__ float rounded(W weight) {
  T number;
  narrow_to(&number, widened(weight));
  return widened(number);
}

// y[i, n] = sum over k of x[i, k] w(k, n), w[e, n, k] if kTransposed, else w[e, k, n].
template <class T, class W, bool kTransposed>
__global__ void __launch_bounds__(kTileThreads)
    multiply_rows_kernel(T* y, const T* x, const W* w, const int32_t* offsets, int64_t experts,
                         int64_t terms, int64_t columns) {
  // blockIdx.y is the number of a tile of rows, counted through the experts.
  int64_t tile = blockIdx.y;
  int64_t expert = 0;
  for (; expert < experts; ++expert) {
    const int64_t tiles = (offsets[expert + 1] - offsets[expert] + kSide - 1) / kSide;
    if (tile < tiles) break;
    tile -= tiles;
  }
  if (expert == experts) return;
  const int64_t end = offsets[expert + 1];
  const W* weight = w + expert * terms * columns;
  multiply_tile(
      offsets[expert] + tile * kSide, int64_t{blockIdx.x} * kSide, terms,
      [=](int64_t i, int64_t k) { return i < end && k < terms ? widened(x[i * terms + k]) : 0.0F; },
      [=](int64_t k, int64_t n) {
        if (k >= terms || n >= columns) return 0.0F;
        return rounded<T>(kTransposed ? weight[n * terms + k] : weight[k * columns + n]);
      },
      [=](int64_t i, int64_t n, float sum) {
        if (i < end && n < columns) narrow_to(y + i * columns + n, sum);
      });
}

// dw[e, o, i] = (accumulate ? dw : 0) + sum over the rows r of expert e of g[r, o] x[r, i].
template <class T>
__global__ void __launch_bounds__(kTileThreads)
    weight_gradient_kernel(float* dw, const T* x, const T* g, const int32_t* offsets, int64_t in,
                           int64_t out, bool accumulate) {
  const int64_t expert = blockIdx.z;
  const int64_t first = offsets[expert];
  const int64_t rows = offsets[expert + 1] - first;
  if (rows == 0 && accumulate) return;
  float* to = dw + expert * out * in;
  multiply_tile(
      int64_t{blockIdx.y} * kSide, int64_t{blockIdx.x} * kSide, rows,
      [=](int64_t o, int64_t r) {
        return o < out && r < rows ? widened(g[(first + r) * out + o]) : 0.0F;
      },
      [=](int64_t r, int64_t i) {
        return i < in && r < rows ? widened(x[(first + r) * in + i]) : 0.0F;
      },
      [=](int64_t o, int64_t i, float sum) {
        if (o >= out || i >= in) return;
        to[o * in + i] = (accumulate ? to[o * in + i] : 0.0F) + sum;
      });
}

template <bool kTransposed>
void multiply_rows(CudaContext& context, Tensor& y, const Tensor& x, const Tensor& w,
                   const Tensor& offsets, const GroupedSizes& sizes) {
  const int64_t terms = kTransposed ? sizes.in : sizes.out;
  const int64_t columns = kTransposed ? sizes.out : sizes.in;
  if (sizes.rows == 0) return;
  const LaunchShape shape{
      .grid = {blocks_for(columns, kSide),
               blocks_for(sizes.rows, kSide) + static_cast<uint32_t>(sizes.experts)},
      .block = {kTileThreads}};
  with_element_type(x.dtype(), "a grouped product", [&]<class T>(T) {
    const auto run = [&]<class W>(const W* weights) {
      launch(context.queue, &multiply_rows_kernel<T, W, kTransposed>, shape, y.data<T>(),
             x.data<T>(), weights, offsets.data<int32_t>(), sizes.experts, terms, columns);
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
           g.data<T>(), offsets.data<int32_t>(), sizes.in, sizes.out, accumulate);
  });
}

}  // namespace penstock
