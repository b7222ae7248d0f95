// kernels/cuda/families/activation.cu -- activations and their gradients, one element at a time in
// fp32.
#include "kernels/checks.h"
#include "kernels/cuda/families/activation.h"
#include "kernels/cuda/loops/elementwise.h"

namespace penstock {
namespace {

constexpr float kRootHalf = 0.70710678F;          // 1 / sqrt(2)
constexpr float kRootTwoOverPi = 0.79788456F;     // sqrt(2 / pi)
constexpr float kCubic = 0.044715F;               // of the tanh form of GELU
constexpr float kInverseRootTwoPi = 0.39894228F;  // 1 / sqrt(2 pi)

// NaN stays NaN: the comparison that it fails is the one that would drop it.
struct Relu {
  static __device__ float of(float x) { return x <= 0.0F ? 0.0F : x; }
  static __device__ float slope(float x) { return x > 0.0F ? 1.0F : 0.0F; }
};

// x Phi(x), Phi the normal distribution function (Hendrycks and Gimpel 2016).
struct Gelu {
  static __device__ float of(float x) { return 0.5F * x * (1.0F + erff(x * kRootHalf)); }
  static __device__ float slope(float x) {
    const float density = kInverseRootTwoPi * expf(-0.5F * x * x);
    return 0.5F * (1.0F + erff(x * kRootHalf)) + x * density;
  }
};

struct GeluTanh {
  static __device__ float of(float x) {
    return 0.5F * x * (1.0F + tanhf(kRootTwoOverPi * (x + kCubic * x * x * x)));
  }
  static __device__ float slope(float x) {
    const float t = tanhf(kRootTwoOverPi * (x + kCubic * x * x * x));
    const float inner = kRootTwoOverPi * (1.0F + 3.0F * kCubic * x * x);
    return 0.5F * (1.0F + t) + 0.5F * x * (1.0F - t * t) * inner;
  }
};

struct Silu {
  static __device__ float of(float x) { return x / (1.0F + expf(-x)); }
  static __device__ float slope(float x) {
    const float s = 1.0F / (1.0F + expf(-x));
    return s * (1.0F + x * (1.0F - s));
  }
};

struct Tanh {
  static __device__ float of(float x) { return tanhf(x); }
  static __device__ float slope(float x) {
    const float t = tanhf(x);
    return 1.0F - t * t;
  }
};

template <class F>
struct Backward {
  static __device__ float of(float g, float x) { return g * F::slope(x); }
};

template <class F>
void forward(CudaContext& context, Tensor& y, const Tensor& x) {
  with_element_type(x.dtype(), "activation_forward", [&]<class T>(T) {
    launch_elementwise(context, MapOne<F, T, T>{y.data<T>(), x.data<T>()}, x.elements());
  });
}

template <class F>
void backward(CudaContext& context, Tensor& dx, const Tensor& g, const Tensor& x) {
  with_element_type(x.dtype(), "activation_backward", [&]<class T>(T) {
    const MapTwo<Backward<F>, T, T, T> body{dx.data<T>(), g.data<T>(), x.data<T>()};
    launch_elementwise(context, body, x.elements());
  });
}

}  // namespace

void activation_forward(CudaContext& context, Tensor& y, const Tensor& x, Activation f) {
  switch (f) {
    case Activation::Relu:
      return forward<Relu>(context, y, x);
    case Activation::Gelu:
      return forward<Gelu>(context, y, x);
    case Activation::GeluTanh:
      return forward<GeluTanh>(context, y, x);
    case Activation::Silu:
      return forward<Silu>(context, y, x);
    case Activation::Tanh:
      return forward<Tanh>(context, y, x);
  }
}

void activation_backward(CudaContext& context, Tensor& dx, const Tensor& g, const Tensor& x,
                         Activation f) {
  switch (f) {
    case Activation::Relu:
      return backward<Relu>(context, dx, g, x);
    case Activation::Gelu:
      return backward<Gelu>(context, dx, g, x);
    case Activation::GeluTanh:
      return backward<GeluTanh>(context, dx, g, x);
    case Activation::Silu:
      return backward<Silu>(context, dx, g, x);
    case Activation::Tanh:
      return backward<Tanh>(context, dx, g, x);
  }
}

}  // namespace penstock
