#include "kernels/checks.h"
#include "kernels/cuda/dense/bias_function.h"
#include "kernels/cuda/loops/columns.h"

namespace penstock {
namespace {

__device__ float applied(Fused f, float x) {
  switch (f) {
    case Fused::Relu:
      return x <= 0.0F ? 0.0F : x;  // keeps a NaN
    case Fused::Tanh:
      return tanhf(x);
    default:
      return x;
  }
}

template <class T>
struct BiasFunction {
  static constexpr int kWide = kGroup<T>;
  T* y;
  const float* bias;  // null if there is no bias
  int64_t f;          // a Fused, in eight bytes so that there is no padding

  [[nodiscard]] bool aligned() const { return is_aligned<kWide>(y); }
  template <int N>
  __device__ Floats<N> columns(int64_t j, int64_t columns) const {
    return bias == nullptr ? Floats<N>{} : repeated<N>(bias, j, columns);
  }
  template <int N>
  __device__ Floats<N> load(int64_t i) const {
    return penstock::load<N>(y + i);
  }
  template <int N>
  __device__ void finish(int64_t i, const Floats<N>& in, const Floats<N>& added) const {
    Floats<N> out;
    for (int k = 0; k < N; ++k) out[k] = applied(static_cast<Fused>(f), in[k] + added[k]);
    store<N>(y + i, out);
  }
};

}  // namespace

void apply_bias_function(CudaContext& context, Tensor& y, const Tensor* bias, Fused f) {
  if (bias == nullptr && f == Fused::None) return;
  const float* added = bias == nullptr ? nullptr : bias->data<float>();
  with_element_type(y.dtype(), "a bias", [&]<class T>(T) {
    const BiasFunction<T> body{y.data<T>(), added, static_cast<int64_t>(f)};
    launch_columns(context, body, y.elements(), y.shape().back());
  });
}

}  // namespace penstock
