// kernels/cuda/families/activation.cu -- activations and their gradients, one element at a time in
// fp32.
#include "kernels/checks.h"
#include "kernels/cuda/loops/elementwise.h"

namespace penstock {
namespace {

constexpr float kRootHalf = 0.70710678F;          // 1 / sqrt(2)
constexpr float kRootTwoOverPi = 0.79788456F;     // sqrt(2 / pi)
constexpr float kCubic = 0.044715F;               // the cubic term's factor in GELU's tanh form
constexpr float kInverseRootTwoPi = 0.39894228F;  // 1 / sqrt(2 pi)

// A NaN stays NaN: the comparison x <= 0 is false for it, so it is not replaced by 0.
struct Relu {
  static __device__ float of(float x) { return x <= 0.0F ? 0.0F : x; }
  static __device__ float slope(float x) { return x > 0.0F ? 1.0F : 0.0F; }
};

// GELU is x Phi(x), where Phi is the normal distribution function (Hendrycks and Gimpel 2016).
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
struct Gated {
  static __device__ float of(float gate, float x) { return F::of(gate) * x; }
};

// Computes dgate = g x f'(gate) and dx = g f(gate).
template <class F, class T>
struct GatedBackward {
  static constexpr int kWide = kGroup<T>;
  T* dgate;
  T* dx;
  const T* g;
  const T* gate;
  const T* x;
  [[nodiscard]] bool aligned() const {
    return is_aligned<kWide>(dgate) && is_aligned<kWide>(dx) && is_aligned<kWide>(g) &&
           is_aligned<kWide>(gate) && is_aligned<kWide>(x);
  }
  template <int N>
  struct In {
    Floats<N> g, gate, x;
  };
  template <int N>
  __device__ In<N> load(int64_t i) const {
    return {penstock::load<N>(g + i), penstock::load<N>(gate + i), penstock::load<N>(x + i)};
  }
  template <int N>
  __device__ void finish(int64_t i, const In<N>& in) const {
    Floats<N> of_gate;
    Floats<N> of_x;
    for (int k = 0; k < N; ++k) {
      of_gate[k] = in.g[k] * in.x[k] * F::slope(in.gate[k]);
      of_x[k] = in.g[k] * F::of(in.gate[k]);
    }
    store<N>(dgate + i, of_gate);
    store<N>(dx + i, of_x);
  }
};

__device__ float open(float c) {
  return 1.0F / (1.0F + expf(-kClampedGateSteepness * c));
}
__device__ float clamped(float x, double limit) {
  return fminf(fmaxf(x, static_cast<float>(-limit)), static_cast<float>(limit));
}

template <class T>
struct ClampedGate : MapTwo<Silu, T, T, T> {
  double limit;  // a float, in eight bytes so that there is no padding
  template <int N>
  __device__ void finish(int64_t i, const Two<N>& in) const {
    Floats<N> out;
    for (int k = 0; k < N; ++k) {
      const float c = fminf(in.a[k], static_cast<float>(limit));
      out[k] = (clamped(in.b[k], limit) + 1.0F) * c * open(c);
    }
    store<N>(this->y + i, out);
  }
};

template <class T>
struct ClampedGateBackward : GatedBackward<Silu, T> {
  double limit;  // likewise
  template <int N>
  __device__ void finish(int64_t i,
                         const typename GatedBackward<Silu, T>::template In<N>& in) const {
    Floats<N> of_gate;
    Floats<N> of_x;
    for (int k = 0; k < N; ++k) {
      const auto most = static_cast<float>(limit);
      const float c = fminf(in.gate[k], most);
      const float s = open(c);
      const float slope = s * (1.0F + kClampedGateSteepness * c * (1.0F - s));
      of_gate[k] = in.gate[k] > most ? 0.0F : in.g[k] * (clamped(in.x[k], limit) + 1.0F) * slope;
      of_x[k] = fabsf(in.x[k]) > most ? 0.0F : in.g[k] * c * s;
    }
    store<N>(this->dgate + i, of_gate);
    store<N>(this->dx + i, of_x);
  }
};

// Calls visit(F{}), where F is the type that computes `f`.
template <class Visit>
void with_function(Activation f, const Visit& visit) {
  switch (f) {
    case Activation::Relu:
      return visit(Relu{});
    case Activation::Gelu:
      return visit(Gelu{});
    case Activation::GeluTanh:
      return visit(GeluTanh{});
    case Activation::Silu:
      return visit(Silu{});
    case Activation::Tanh:
      return visit(Tanh{});
  }
}

// These compute the gradient of a fused function from its output y.
struct NoneBackward {
  static __device__ float of(float g, float /*y*/) { return g; }
};
struct ReluBackward {
  static __device__ float of(float g, float y) { return y > 0.0F ? g : 0.0F; }
};
struct TanhBackward {
  static __device__ float of(float g, float y) { return g * (1.0F - y * y); }
};

class CudaActivation final : public ActivationOps {
 public:
  explicit CudaActivation(CudaContext& context) : context_(context) {}

  void forward(Tensor& y, const Tensor& x, Activation f) override {
    require_alike("activation_forward", y, x);
    with_function(f, [&]<class F>(F) {
      with_element_type(x.dtype(), "activation_forward", [&]<class T>(T) {
        launch_elementwise(context_, MapOne<F, T, T>{{y.data<T>(), x.data<T>()}}, x.elements());
      });
    });
  }
  void backward(Tensor& dx, const Tensor& g, const Tensor& x, Activation f) override {
    require_alike("activation_backward", dx, x);
    require_alike("activation_backward", g, x);
    with_function(f, [&]<class F>(F) {
      with_element_type(x.dtype(), "activation_backward", [&]<class T>(T) {
        const MapTwo<Backward<F>, T, T, T> body{dx.data<T>(), g.data<T>(), x.data<T>()};
        launch_elementwise(context_, body, x.elements());
      });
    });
  }
  void gated_forward(Tensor& y, const Tensor& gate, const Tensor& x, Activation f) override {
    require_alike("gated_forward", y, x);
    require_alike("gated_forward", gate, x);
    with_function(f, [&]<class F>(F) {
      with_element_type(x.dtype(), "gated_forward", [&]<class T>(T) {
        const MapTwo<Gated<F>, T, T, T> body{y.data<T>(), gate.data<T>(), x.data<T>()};
        launch_elementwise(context_, body, x.elements());
      });
    });
  }
  void gated_backward(Tensor& dgate, Tensor& dx, const Tensor& g, const Tensor& gate,
                      const Tensor& x, Activation f) override {
    for (const Tensor& t : {dgate, dx, g, gate}) require_alike("gated_backward", t, x);
    with_function(f, [&]<class F>(F) {
      with_element_type(x.dtype(), "gated_backward", [&]<class T>(T) {
        const GatedBackward<F, T> body{dgate.data<T>(), dx.data<T>(), g.data<T>(), gate.data<T>(),
                                       x.data<T>()};
        launch_elementwise(context_, body, x.elements());
      });
    });
  }
  void clamped_gate_forward(Tensor& y, const Tensor& gate, const Tensor& x, float limit) override {
    for (const Tensor& t : {gate, x}) require_alike("clamped_gate_forward", t, y);
    with_element_type(y.dtype(), "clamped_gate_forward", [&]<class T>(T) {
      const ClampedGate<T> body{{y.data<T>(), gate.data<T>(), x.data<T>()}, double{limit}};
      launch_elementwise(context_, body, y.elements());
    });
  }
  void clamped_gate_backward(Tensor& dgate, Tensor& dx, const Tensor& g, const Tensor& gate,
                             const Tensor& x, float limit) override {
    for (const Tensor& t : {dgate, dx, g, gate}) require_alike("clamped_gate_backward", t, x);
    with_element_type(x.dtype(), "clamped_gate_backward", [&]<class T>(T) {
      const ClampedGateBackward<T> body{
          {dgate.data<T>(), dx.data<T>(), g.data<T>(), gate.data<T>(), x.data<T>()}, double{limit}};
      launch_elementwise(context_, body, x.elements());
    });
  }
  void fused_backward(Tensor& dx, const Tensor& g, const Tensor& y, Fused f) override {
    switch (f) {
      case Fused::None:
        return fused<NoneBackward>(dx, g, y);
      case Fused::Relu:
        return fused<ReluBackward>(dx, g, y);
      case Fused::Tanh:
        return fused<TanhBackward>(dx, g, y);
    }
  }

 private:
  template <class F>
  void fused(Tensor& dx, const Tensor& g, const Tensor& y) {
    require_alike("fused_backward", dx, g);
    require_alike("fused_backward", dx, y);
    with_element_type(dx.dtype(), "fused_backward", [&]<class T>(T) {
      const MapTwo<F, T, T, T> body{dx.data<T>(), g.data<T>(), y.data<T>()};
      launch_elementwise(context_, body, dx.elements());
    });
  }

  CudaContext& context_;
};

}  // namespace

std::unique_ptr<ActivationOps> cuda_activation_ops(CudaContext& context) {
  return std::make_unique<CudaActivation>(context);
}

}  // namespace penstock
