// kernels/cuda/families/batch_norm.cu -- batch norm (Ioffe and Szegedy 2015). Bound by memory: it
// reads x twice, for its sums and to normalise.
#include "kernels/checks.h"
#include "kernels/cuda/families/norm_statistics.h"

namespace penstock {
namespace {

template <int N>
struct Affine {
  Floats<N> mean, factor, shift;
};

// Computes y = (x - mean) gamma rstd + beta. `spread` is rstd, or the variance that rstd is
// computed from.
template <class T, bool kFromVariance>
struct Normalize : OneOperand<T> {
  const float* mean;
  const float* spread;
  const float* gamma;
  const float* beta;
  double epsilon;
  template <int N>
  __device__ Affine<N> columns(int64_t j, int64_t channels) const {
    Affine<N> a{repeated<N>(mean, j, channels), repeated<N>(spread, j, channels),
                repeated<N>(beta, j, channels)};
    const Floats<N> scale = repeated<N>(gamma, j, channels);
    for (int k = 0; k < N; ++k) {
      if constexpr (kFromVariance) {
        a.factor[k] = scale[k] / sqrtf(a.factor[k] + static_cast<float>(epsilon));
      } else {
        a.factor[k] *= scale[k];
      }
    }
    return a;
  }
  template <int N>
  __device__ void finish(int64_t i, const Floats<N>& in, const Affine<N>& a) const {
    Floats<N> out;
    for (int k = 0; k < N; ++k) out[k] = (in[k] - a.mean[k]) * a.factor[k] + a.shift[k];
    store<N>(this->y + i, out);
  }
};

// Adds up g (x - mean) and g over the positions of each channel.
template <class T>
struct GradientSums {
  static constexpr int kWide = kGroup<T>;
  static constexpr int kTerms = 2;
  static constexpr bool kByRow = false;
  const T* g;
  const T* x;
  const float* mean;
  [[nodiscard]] bool aligned() const { return is_aligned<kWide>(g) && is_aligned<kWide>(x); }
  template <int N>
  __device__ Floats<N> columns(int64_t j, int64_t channels) const {
    return repeated<N>(mean, j, channels);
  }
  template <int N, bool kAligned>
  __device__ void add(Floats<N> (&sums)[2], int64_t /*row*/, int64_t i, const Floats<N>& mu) const {
    const Floats<N> gradient = load<N, kAligned>(g + i);
    const Floats<N> from = load<N, kAligned>(x + i);
    for (int k = 0; k < N; ++k) {
      sums[0][k] += gradient[k] * (from[k] - mu[k]);
      sums[1][k] += gradient[k];
    }
  }
};

struct WriteGradients {
  float* dparameters;  // [2, channels]: dgamma, dbeta
  const float* rstd;
  int64_t channels;
  __device__ void operator()(int64_t c, const double (&totals)[2]) const {
    dparameters[c] = static_cast<float>(totals[0] * static_cast<double>(rstd[c]));
    dparameters[channels + c] = static_cast<float>(totals[1]);
  }
};

// Holds a channel's numbers for dx = a (g - b - (x - mean) d), where a = gamma rstd, b = dbeta /
// count and d = rstd dgamma / count.
template <int N>
struct Pullback {
  Floats<N> mean, a, b, d;
};

template <class T>
struct InputGradient {
  static constexpr int kWide = kGroup<T>;
  T* dx;
  const T* g;
  const T* x;
  const float* mean;
  const float* rstd;
  const float* gamma;
  const float* dgamma;
  const float* dbeta;
  double count;
  [[nodiscard]] bool aligned() const {
    return is_aligned<kWide>(dx) && is_aligned<kWide>(g) && is_aligned<kWide>(x);
  }
  template <int N>
  __device__ Pullback<N> columns(int64_t j, int64_t channels) const {
    const float share = 1.0F / static_cast<float>(count);
    Pullback<N> p{repeated<N>(mean, j, channels), repeated<N>(rstd, j, channels),
                  repeated<N>(dbeta, j, channels), repeated<N>(dgamma, j, channels)};
    const Floats<N> scale = repeated<N>(gamma, j, channels);
    for (int k = 0; k < N; ++k) {
      p.b[k] *= share;
      p.d[k] *= p.a[k] * share;
      p.a[k] *= scale[k];
    }
    return p;
  }
  template <int N>
  struct Both {
    Floats<N> g, x;
  };
  template <int N>
  __device__ Both<N> load(int64_t i) const {
    return {penstock::load<N>(g + i), penstock::load<N>(x + i)};
  }
  template <int N>
  __device__ void finish(int64_t i, const Both<N>& in, const Pullback<N>& p) const {
    Floats<N> out;
    for (int k = 0; k < N; ++k) {
      out[k] = p.a[k] * (in.g[k] - p.b[k] - (in.x[k] - p.mean[k]) * p.d[k]);
    }
    store<N>(dx + i, out);
  }
};

class CudaBatchNorm final : public BatchNormOps {
 public:
  explicit CudaBatchNorm(CudaContext& context) : context_(context) {}

  void statistics(Tensor& mean, Tensor& rstd, Tensor& sums, const Tensor& x,
                  float epsilon) override {
    constexpr const char* kOp = "batch_norm_statistics";
    require_channels(kOp, x, x, mean, rstd, mean);
    require_elements(kOp, sums, kNormSums * mean.elements());
    if (x.elements() == 0) return;
    const int64_t channels = x.shape().back();
    const auto count = static_cast<double>(x.elements() / channels);
    with_element_type(x.dtype(), kOp, [&]<class T>(T) {
      const WriteStatistics<T> write{mean.data<float>(), rstd.data<float>(), sums.data<float>(),
                                     x.data<T>(),        channels,           count,
                                     double{epsilon}};
      launch_column_sums(context_, ShiftedSums<T>{x.data<T>()}, write, x.elements(), channels);
    });
  }

  void moments(Tensor& mean, Tensor& variance, const Tensor& sums, double positions) override {
    constexpr const char* kOp = "batch_norm_moments";
    const int64_t channels = mean.elements();
    require_elements(kOp, variance, channels);
    require_elements(kOp, sums, kNormSums * channels);
    const FindMoments body{mean.data<float>(), variance.data<float>(), sums.data<float>(), channels,
                           positions};
    launch_elementwise(context_, body, channels);
  }

  void apply(Tensor& y, const Tensor& x, const Tensor& mean, const Tensor& rstd,
             const Tensor& gamma, const Tensor& beta) override {
    constexpr const char* kOp = "batch_norm_apply";
    require_channels(kOp, y, x, mean, rstd, gamma);
    require_alike(kOp, gamma, beta);
    constexpr float kNoEpsilon = 0.0F;  // rstd contains it already
    normalize<false>(kOp, y, x, mean, rstd, gamma, beta, kNoEpsilon);
  }

  void inference(Tensor& y, const Tensor& x, const Tensor& mean, const Tensor& variance,
                 const Tensor& gamma, const Tensor& beta, float epsilon) override {
    constexpr const char* kOp = "batch_norm_inference";
    require_channels(kOp, y, x, mean, variance, gamma);
    require_alike(kOp, gamma, beta);
    normalize<true>(kOp, y, x, mean, variance, gamma, beta, epsilon);
  }

  void gradients(Tensor& dparameters, const Tensor& g, const Tensor& x, const Tensor& mean,
                 const Tensor& rstd) override {
    constexpr const char* kOp = "batch_norm_gradients";
    require_channels(kOp, g, x, mean, rstd, mean);
    require_elements(kOp, dparameters, 2 * mean.elements());
    if (x.elements() == 0) return;
    const int64_t channels = x.shape().back();
    with_element_type(x.dtype(), kOp, [&]<class T>(T) {
      const GradientSums<T> sums{g.data<T>(), x.data<T>(), mean.data<float>()};
      const WriteGradients write{dparameters.data<float>(), rstd.data<float>(), channels};
      launch_column_sums(context_, sums, write, x.elements(), channels);
    });
  }

  void backward_input(Tensor& dx, const Tensor& dparameters, int64_t positions, const Tensor& g,
                      const Tensor& x, const Tensor& mean, const Tensor& rstd,
                      const Tensor& gamma) override {
    constexpr const char* kOp = "batch_norm_backward_input";
    require_channels(kOp, dx, x, mean, rstd, gamma);
    require_alike(kOp, g, x);
    require_elements(kOp, dparameters, 2 * mean.elements());
    if (x.elements() == 0) return;
    const int64_t channels = x.shape().back();
    const auto count = static_cast<double>(positions);
    const auto* dgamma = dparameters.data<float>();
    with_element_type(x.dtype(), kOp, [&]<class T>(T) {
      const InputGradient<T> body{dx.data<T>(),
                                  g.data<T>(),
                                  x.data<T>(),
                                  mean.data<float>(),
                                  rstd.data<float>(),
                                  gamma.data<float>(),
                                  dgamma,
                                  dgamma + channels,
                                  count};
      launch_columns(context_, body, x.elements(), channels);
    });
  }

 private:
  template <bool kFromVariance>
  void normalize(const char* op, Tensor& y, const Tensor& x, const Tensor& mean,
                 const Tensor& spread, const Tensor& gamma, const Tensor& beta, float epsilon) {
    if (x.elements() == 0) return;
    with_element_type(x.dtype(), op, [&]<class T>(T) {
      const Normalize<T, kFromVariance> body{{y.data<T>(), x.data<T>()}, mean.data<float>(),
                                             spread.data<float>(),       gamma.data<float>(),
                                             beta.data<float>(),         double{epsilon}};
      launch_columns(context_, body, x.elements(), x.shape().back());
    });
  }

  CudaContext& context_;
};

}  // namespace

std::unique_ptr<BatchNormOps> cuda_batch_norm_ops(CudaContext& context) {
  return std::make_unique<CudaBatchNorm>(context);
}

}  // namespace penstock
