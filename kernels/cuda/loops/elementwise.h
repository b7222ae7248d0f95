// kernels/cuda/loops/elementwise.h -- the kernel behind every op that looks at one element at a
// time. For .cu files.
//
// The kernel is bound by memory: all that counts is how many bytes are under way at a time. Each
// thread issues the loads of two groups of 16 bytes per operand before it stores any, and the grid
// covers the tensor, so there is no loop. A result may be one of the operands: a group is read
// before it is written, by the thread that writes it.
#pragma once

#include "kernels/cuda/families.h"
#include "kernels/cuda/loops/vector.h"
#include "kernels/cuda/queue/launch.h"

namespace penstock {

// A Body says what an op does to the N elements from index i on (N is kWide or 1):
//   static constexpr int kWide;                           // elements of a 16-byte access
//   bool aligned() const;                                 // whether such accesses may be made;
//                                                         // called on the host
//   template <int N> auto load(int64_t i) const;          // reads and returns what finish() needs
//   template <int N, class In> void finish(int64_t i, const In& in) const;  // computes and stores
// Bodies are passed by value and compared as bytes (kernels/cuda/queue/queue.h), so they must have
// no padding.
inline constexpr int kElementThreads = 256;
inline constexpr int kGroupsPerThread = 2;

template <int N, class Body>
__global__ void __launch_bounds__(kElementThreads) elementwise_kernel(Body body, int64_t elements) {
  const int64_t groups = elements / N;
  const int64_t first =
      int64_t{blockIdx.x} * kElementThreads * kGroupsPerThread + static_cast<int64_t>(threadIdx.x);
  decltype(body.template load<N>(0)) in[kGroupsPerThread];
#pragma unroll
  for (int u = 0; u < kGroupsPerThread; ++u) {
    const int64_t group = first + u * kElementThreads;
    if (group < groups) in[u] = body.template load<N>(group * N);
  }
#pragma unroll
  for (int u = 0; u < kGroupsPerThread; ++u) {
    const int64_t group = first + u * kElementThreads;
    if (group < groups) body.template finish<N>(group * N, in[u]);
  }
  const int64_t last = groups * N + first;  // the few that make no group
  if (N > 1 && last < elements) body.template finish<1>(last, body.template load<1>(last));
}

// Runs the body over `elements` elements.
template <class Body>
void launch_elementwise(CudaContext& context, const Body& body, int64_t elements) {
  if (elements == 0) return;
  const auto shape = [elements](int group) {
    const int64_t groups = (elements + group - 1) / group;
    return LaunchShape{.grid = {blocks_for(groups, kElementThreads * kGroupsPerThread)},
                       .block = {kElementThreads}};
  };
  constexpr int kWide = Body::kWide;
  if (body.aligned()) {
    launch(context.queue, &elementwise_kernel<kWide, Body>, shape(kWide), body, elements);
  } else {
    launch(context.queue, &elementwise_kernel<1, Body>, shape(1), body, elements);
  }
}

// The base of Bodies that have one result y and one operand x of its size: it reads x, and the
// derived class adds finish(), which stores y.
template <class Y, class X = Y>
struct OneOperand {
  static constexpr int kWide = kGroup<Y, X>;
  Y* y;
  const X* x;
  [[nodiscard]] bool aligned() const { return is_aligned<kWide>(y) && is_aligned<kWide>(x); }
  template <int N>
  __device__ Floats<N> load(int64_t i) const {
    return penstock::load<N>(x + i);
  }
};

// y[i] = F::of(x[i])
template <class F, class Y, class X>
struct MapOne : OneOperand<Y, X> {
  template <int N>
  __device__ void finish(int64_t i, const Floats<N>& in) const {
    Floats<N> out;
    for (int k = 0; k < N; ++k) out[k] = F::of(in[k]);
    store<N>(this->y + i, out);
  }
};

// N elements of each of the two operands of MapTwo.
template <int N>
struct Two {
  Floats<N> a, b;
};

// y[i] = F::of(a[i], b[i])
template <class F, class Y, class A, class B>
struct MapTwo {
  static constexpr int kWide = kGroup<Y, A, B>;
  Y* y;
  const A* a;
  const B* b;
  [[nodiscard]] bool aligned() const {
    return is_aligned<kWide>(y) && is_aligned<kWide>(a) && is_aligned<kWide>(b);
  }
  template <int N>
  __device__ Two<N> load(int64_t i) const {
    return {penstock::load<N>(a + i), penstock::load<N>(b + i)};
  }
  template <int N>
  __device__ void finish(int64_t i, const Two<N>& in) const {
    Floats<N> out;
    for (int k = 0; k < N; ++k) out[k] = F::of(in.a[k], in.b[k]);
    store<N>(y + i, out);
  }
};

}  // namespace penstock
