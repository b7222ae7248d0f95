#include "kernels/checks.h"
#include "kernels/cuda/families/softmax.h"
#include "kernels/cuda/loops/rows.h"

namespace penstock {
namespace {

constexpr int kHeldOfRow = 4;  // groups of 16 bytes that a thread keeps of a row
constexpr int kSoftmaxThreads = 256;

struct Larger {
  __device__ float operator()(float a, float b) const { return fmaxf(a, b); }
};

template <class T, int N, int kThreads>
__global__ void __launch_bounds__(kThreads == kWarp ? kWarp * kRowsPerBlock : kThreads)
    softmax_forward_kernel(T* y, const T* x, int64_t rows, int64_t width) {
  __shared__ float parts[kThreads / kWarp];
  const int64_t row = row_of_thread<kThreads>();
  if (row >= rows) return;  // all threads of a warp end together, as row_reduce() needs
  const int64_t groups = width / N;
  const T* from = x + row * width;
  T* to = y + row * width;
  const auto read = [from](int64_t group) { return load<N>(from + group * N); };
  HeldRow<N, kThreads, kHeldOfRow> held;
  held.read(groups, read);
  float top = -INFINITY;
  held.each(groups, read, [&top](int64_t /*group*/, const Floats<N>& v) {
    for (int k = 0; k < N; ++k) top = fmaxf(top, v[k]);
  });
  top = row_reduce<kThreads>(top, parts, Larger{});
  float sum = 0.0F;
  held.each(groups, read, [&sum, top](int64_t /*group*/, const Floats<N>& v) {
    for (int k = 0; k < N; ++k) sum += expf(v[k] - top);
  });
  const float share = 1.0F / row_reduce<kThreads>(sum, parts, Plus{});
  held.each(groups, read, [=](int64_t group, const Floats<N>& v) {
    Floats<N> out;
    for (int k = 0; k < N; ++k) out[k] = expf(v[k] - top) * share;
    store<N>(to + group * N, out);
  });
}

// Computes dx = y (g - sum of g y).
template <class T, int N, int kThreads>
__global__ void __launch_bounds__(kThreads == kWarp ? kWarp * kRowsPerBlock : kThreads)
    softmax_backward_kernel(T* dx, const T* g, const T* y, int64_t rows, int64_t width) {
  __shared__ float parts[kThreads / kWarp];
  const int64_t row = row_of_thread<kThreads>();
  if (row >= rows) return;
  const int64_t groups = width / N;
  const T* gradient = g + row * width;
  const T* from = y + row * width;
  T* to = dx + row * width;
  const auto read = [from](int64_t group) { return load<N>(from + group * N); };
  HeldRow<N, kThreads, kHeldOfRow> held;
  held.read(groups, read);
  float dot = 0.0F;
  held.each(groups, read, [&dot, gradient](int64_t group, const Floats<N>& v) {
    const Floats<N> of = load<N>(gradient + group * N);
    for (int k = 0; k < N; ++k) dot += of[k] * v[k];
  });
  dot = row_reduce<kThreads>(dot, parts, Plus{});
  held.each(groups, read, [=](int64_t group, const Floats<N>& v) {
    const Floats<N> of = load<N>(gradient + group * N);
    Floats<N> out;
    for (int k = 0; k < N; ++k) out[k] = v[k] * (of[k] - dot);
    store<N>(to + group * N, out);
  });
}

// Calls f<N, kThreads>(). N makes groups of 16 bytes if the rows allow that, else it is 1. The
// threads are one warp if a warp can keep a whole row, else a block.
template <class T, class F>
void by_row_width(int64_t width, bool aligned, const F& f) {
  constexpr int kWide = kGroup<T>;
  const auto by_threads = [&]<int N>() {
    if (width / N <= kWarp * kHeldOfRow) return f.template operator()<N, kWarp>();
    f.template operator()<N, kSoftmaxThreads>();
  };
  if (aligned && width % kWide == 0) return by_threads.template operator()<kWide>();
  by_threads.template operator()<1>();
}

}  // namespace

void softmax_forward(CudaContext& context, Tensor& y, const Tensor& x) {
  if (x.elements() == 0) return;
  const int64_t rows = x.shape().rows();
  const int64_t width = x.shape().back();
  with_element_type(x.dtype(), "softmax_forward", [&]<class T>(T) {
    T* to = y.data<T>();
    const T* from = x.data<T>();
    const bool aligned = is_aligned<kGroup<T>>(to) && is_aligned<kGroup<T>>(from);
    by_row_width<T>(width, aligned, [&]<int N, int kThreads>() {
      launch(context.queue, &softmax_forward_kernel<T, N, kThreads>, row_shape<kThreads>(rows), to,
             from, rows, width);
    });
  });
}

void softmax_backward(CudaContext& context, Tensor& dx, const Tensor& g, const Tensor& y) {
  if (y.elements() == 0) return;
  const int64_t rows = y.shape().rows();
  const int64_t width = y.shape().back();
  with_element_type(y.dtype(), "softmax_backward", [&]<class T>(T) {
    T* to = dx.data<T>();
    const T* gradient = g.data<T>();
    const T* of = y.data<T>();
    const bool aligned =
        is_aligned<kGroup<T>>(to) && is_aligned<kGroup<T>>(gradient) && is_aligned<kGroup<T>>(of);
    by_row_width<T>(width, aligned, [&]<int N, int kThreads>() {
      launch(context.queue, &softmax_backward_kernel<T, N, kThreads>, row_shape<kThreads>(rows), to,
             gradient, of, rows, width);
    });
  });
}

}  // namespace penstock
