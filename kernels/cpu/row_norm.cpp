// kernels/cpu/row_norm.cpp -- layer norm (Ba et al. 2016) and RMS norm (Zhang and Sennrich 2019) as
// vectorised loops. oneDNN has a layer norm, but it is scalar.
#include <array>
#include <cmath>

#include "kernels/cpu/loops/column_sums.h"
#include "kernels/cpu/loops/maps.h"
#include "kernels/cpu/loops/simd_math.h"

namespace penstock {
namespace {

// The functions below are norms of one row of `width` elements. T is float or bfloat16; sums are
// fp32. y and dx are overwritten; g is the gradient of y.

struct RowStatistics {
  float mean, rstd;  // rstd: 1 / deviation
};

// The mean and 1 / deviation of a row, in two passes: the second sees a row that is still in the
// cache, and subtracts before it squares.
template <class T>
RowStatistics row_statistics(const T* x, int64_t width, float epsilon) {
  const auto count = static_cast<float>(width);
  const float mean = simd_sum(width, [x](int64_t i) { return static_cast<float>(x[i]); }) / count;
  const float squares = simd_sum(width, [x, mean](int64_t i) {
    const float centred = static_cast<float>(x[i]) - mean;
    return centred * centred;
  });
  return {mean, 1.0F / std::sqrt(squares / count + epsilon)};
}

// y = (x - mean) rstd gamma + beta; `beta` null: nothing is added.
template <class T>
void layer_norm_row(T* y, const T* x, RowStatistics s, const float* gamma, const float* beta,
                    int64_t width) {
  const auto scaled = [=](int64_t i) {
    return (static_cast<float>(x[i]) - s.mean) * s.rstd * gamma[i];
  };
  if (beta == nullptr) {
#pragma GCC ivdep
    for (int64_t i = 0; i < width; ++i) y[i] = static_cast<T>(scaled(i));
    return;
  }
#pragma GCC ivdep
  for (int64_t i = 0; i < width; ++i) y[i] = static_cast<T>(scaled(i) + beta[i]);
}

// dx = rstd (h - mean(h) - n mean(h n)) with h = g gamma and n = the normalised x.
template <class T>
void layer_norm_backward_row(T* dx, const T* g, const T* x, RowStatistics s, const float* gamma,
                             int64_t width) {
  const auto count = static_cast<float>(width);
  const auto h_at = [g, gamma](int64_t i) { return static_cast<float>(g[i]) * gamma[i]; };
  const auto n_at = [x, s](int64_t i) { return (static_cast<float>(x[i]) - s.mean) * s.rstd; };
  const float mean_h = simd_dot(g, gamma, width) / count;
  const float mean_hn =
      simd_sum(width, [&h_at, &n_at](int64_t i) { return h_at(i) * n_at(i); }) / count;
#pragma GCC ivdep
  for (int64_t i = 0; i < width; ++i) {
    dx[i] = static_cast<T>(s.rstd * (h_at(i) - mean_h - n_at(i) * mean_hn));
  }
}

// y = x rstd (offset + gamma). Returns rstd.
template <class T>
float rms_norm_row(T* y, const T* x, const float* gamma, float offset, int64_t width,
                   float epsilon) {
  const float squares = simd_sum(width, [x](int64_t i) {
    const auto element = static_cast<float>(x[i]);
    return element * element;
  });
  const float rstd = 1.0F / std::sqrt(squares / static_cast<float>(width) + epsilon);
  map_row(y, x, gamma, width,
          [rstd, offset](float xi, float gi) { return xi * rstd * (offset + gi); });
  return rstd;
}

// dx = rstd (h - n mean(h n)) with h = g (offset + gamma) and n = x rstd.
template <class T>
void rms_norm_backward_row(T* dx, const T* g, const T* x, float rstd, const float* gamma,
                           float offset, int64_t width) {
  const auto h_at = [g, gamma, offset](int64_t i) {
    return static_cast<float>(g[i]) * (offset + gamma[i]);
  };
  const auto n_at = [x, rstd](int64_t i) { return static_cast<float>(x[i]) * rstd; };
  const float mean_hn = simd_sum(width, [&h_at, &n_at](int64_t i) { return h_at(i) * n_at(i); }) /
                        static_cast<float>(width);
#pragma GCC ivdep
  for (int64_t i = 0; i < width; ++i) {
    dx[i] = static_cast<T>(rstd * (h_at(i) - n_at(i) * mean_hn));
  }
}

class CpuRowNorm final : public OnCpu<RowNormOps> {
 public:
  using OnCpu::OnCpu;

  void layer_norm_forward(Tensor& y, Tensor& mean, Tensor& rstd, const Tensor& x,
                          const Tensor& gamma, const Tensor& beta, float epsilon) override {
    require_rows("layer_norm_forward", y, x, mean, rstd, gamma);
    if (beta) require_alike("layer_norm_forward", gamma, beta);
    const float* const shift = beta ? beta.data<float>() : nullptr;
    const int64_t width = x.shape().back();
    with_element_type(x.dtype(), "layer_norm_forward", [&]<class T>(T) {
      for_rows(context_, x, [&](int64_t row) {
        const T* from = x.data<T>() + row * width;
        const RowStatistics s = row_statistics(from, width, epsilon);
        mean.data<float>()[row] = s.mean;
        rstd.data<float>()[row] = s.rstd;
        layer_norm_row(y.data<T>() + row * width, from, s, gamma.data<float>(), shift, width);
      });
    });
  }

  void layer_norm_backward_input(Tensor& dx, const Tensor& g, const Tensor& x, const Tensor& mean,
                                 const Tensor& rstd, const Tensor& gamma) override {
    require_rows("layer_norm_backward_input", dx, x, mean, rstd, gamma);
    require_alike("layer_norm_backward_input", g, x);
    const int64_t width = x.shape().back();
    with_element_type(x.dtype(), "layer_norm_backward_input", [&]<class T>(T) {
      for_rows(context_, x, [&](int64_t row) {
        const RowStatistics s{mean.data<float>()[row], rstd.data<float>()[row]};
        layer_norm_backward_row(dx.data<T>() + row * width, g.data<T>() + row * width,
                                x.data<T>() + row * width, s, gamma.data<float>(), width);
      });
    });
  }

  void layer_norm_backward_weight(Tensor& dgamma, Tensor& dbeta, const Tensor& g, const Tensor& x,
                                  const Tensor& mean, const Tensor& rstd) override {
    require_rows("layer_norm_backward_weight", g, x, mean, rstd, dgamma);
    if (dbeta) require_alike("layer_norm_backward_weight", dgamma, dbeta);
    const int64_t width = x.shape().back();
    with_element_type(x.dtype(), "layer_norm_backward_weight", [&]<class T>(T) {
      const T* from = x.data<T>();
      const T* gradient = g.data<T>();
      const auto* mu = mean.data<float>();
      const auto* scale = rstd.data<float>();
      const Tensor sums = column_sums<2>(context_, plain_rows(x.elements(), width),
                                         [=](int64_t row, int64_t /*column*/, int64_t i) {
                                           const auto gi = static_cast<float>(gradient[i]);
                                           const float n =
                                               (static_cast<float>(from[i]) - mu[row]) * scale[row];
                                           return std::array<float, 2>{gi * n, gi};
                                         });
      add_sums(dgamma.data<float>(), sums.data<double>(), width);
      if (dbeta) add_sums(dbeta.data<float>(), sums.data<double>() + width, width);
    });
  }

  void rms_norm_forward(Tensor& y, Tensor& rstd, const Tensor& x, const Tensor& gamma, float offset,
                        float epsilon) override {
    require_rows("rms_norm_forward", y, x, rstd, rstd, gamma);
    const int64_t width = x.shape().back();
    with_element_type(x.dtype(), "rms_norm_forward", [&]<class T>(T) {
      for_rows(context_, x, [&](int64_t row) {
        rstd.data<float>()[row] = rms_norm_row(y.data<T>() + row * width, x.data<T>() + row * width,
                                               gamma.data<float>(), offset, width, epsilon);
      });
    });
  }

  void rms_norm_backward_input(Tensor& dx, const Tensor& g, const Tensor& x, const Tensor& rstd,
                               const Tensor& gamma, float offset) override {
    require_rows("rms_norm_backward_input", dx, x, rstd, rstd, gamma);
    require_alike("rms_norm_backward_input", g, x);
    const int64_t width = x.shape().back();
    with_element_type(x.dtype(), "rms_norm_backward_input", [&]<class T>(T) {
      for_rows(context_, x, [&](int64_t row) {
        rms_norm_backward_row(dx.data<T>() + row * width, g.data<T>() + row * width,
                              x.data<T>() + row * width, rstd.data<float>()[row],
                              gamma.data<float>(), offset, width);
      });
    });
  }

  void rms_norm_backward_weight(Tensor& dgamma, const Tensor& g, const Tensor& x,
                                const Tensor& rstd) override {
    require_rows("rms_norm_backward_weight", g, x, rstd, rstd, dgamma);
    const int64_t width = x.shape().back();
    with_element_type(x.dtype(), "rms_norm_backward_weight", [&]<class T>(T) {
      const T* from = x.data<T>();
      const T* gradient = g.data<T>();
      const auto* scale = rstd.data<float>();
      const Tensor sums = column_sums<1>(
          context_, plain_rows(x.elements(), width),
          [=](int64_t row, int64_t /*column*/, int64_t i) {
            const auto gi = static_cast<float>(gradient[i]);
            return std::array<float, 1>{gi * (static_cast<float>(from[i]) * scale[row])};
          });
      add_sums(dgamma.data<float>(), sums.data<double>(), width);
    });
  }
};

}  // namespace

std::unique_ptr<RowNormOps> cpu_row_norm_ops(CpuContext& context) {
  return std::make_unique<CpuRowNorm>(context);
}

}  // namespace penstock
