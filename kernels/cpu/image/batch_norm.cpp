// kernels/cpu/image/batch_norm.cpp -- batch norm (Ioffe and Szegedy 2015) as vectorised loops.
// oneDNN has a batch norm, but it does not give the per-channel sums that whole mini-batch
// statistics are made of.
#include <algorithm>
#include <array>
#include <cmath>

#include "kernels/cpu/loops/column_sums.h"
#include "kernels/cpu/loops/loops.h"

namespace penstock {
namespace {

// Sets y[element] = f(column, element) for all elements of the wide rows. f finds the numbers that
// belong to a column in the tensor that tiled() makes.
template <class T, class F>
void for_channels(const CpuContext& context, const WideRows& rows, T* y, const F& f) {
  const int64_t width = rows.width();
  for_rows(context, rows.rows(), width, [&](int64_t row) {
    const int64_t at = row * width;
    const int64_t count = std::min(width, rows.elements - at);
#pragma GCC ivdep
    for (int64_t j = 0; j < count; ++j) y[at + j] = static_cast<T>(f(j, at + j));
  });
}

// Returns a tensor of k rows, each as long as a wide row. Row v holds value(v, channel) for each
// channel, repeated as often as the wide row has copies of the channels.
template <class F>
Tensor tiled(const CpuContext& context, const WideRows& rows, int k, const F& value) {
  Tensor wide = scratch(context, k * rows.width(), DType::F32);
  auto* to = wide.data<float>();
  for (int v = 0; v < k; ++v) {
    for (int64_t j = 0; j < rows.width(); ++j) *to++ = value(v, j % rows.columns);
  }
  return wide;
}

class CpuBatchNorm final : public OnCpu<BatchNormOps> {
 public:
  using OnCpu::OnCpu;

  // The sums are taken of x minus the channel's first value; otherwise the variance of a channel
  // far from zero would be lost in rounding. Without any positions the mean and the variance are 0.
  void statistics(Tensor& mean, Tensor& rstd, Tensor& sums, const Tensor& x,
                  float epsilon) override {
    constexpr const char* kOp = "batch_norm_statistics";
    require_channels(kOp, x, x, mean, rstd, mean);
    require_elements(kOp, sums, kNormSums * mean.elements());
    const int64_t channels = x.shape().back();
    if (x.elements() == 0) {
      std::fill_n(mean.data<float>(), channels, 0.0F);
      std::fill_n(rstd.data<float>(), channels, 1.0F / std::sqrt(epsilon));
      std::fill_n(sums.data<float>(), kNormSums * channels, 0.0F);
      return;
    }
    const WideRows rows = folded_rows(x.elements(), channels);
    const auto count = static_cast<double>(x.shape().rows());
    with_element_type(x.dtype(), kOp, [&]<class T>(T) {
      const T* from = x.data<T>();
      const Tensor wide_origin = tiled(
          context_, rows, 1, [from](int /*k*/, int64_t c) { return static_cast<float>(from[c]); });
      const auto* origin = wide_origin.data<float>();
      const Tensor shifted =
          column_sums<2>(context_, rows, [=](int64_t /*row*/, int64_t j, int64_t i) {
            const float d = static_cast<float>(from[i]) - origin[j];
            return std::array<float, 2>{d, d * d};
          });
      for (int64_t c = 0; c < channels; ++c) {
        const double shift = origin[c];
        const double s1 = shifted.data<double>()[c];
        const double s2 = shifted.data<double>()[channels + c];
        const double variance = std::max(s2 / count - (s1 / count) * (s1 / count), 0.0);
        mean.data<float>()[c] = static_cast<float>(shift + s1 / count);
        rstd.data<float>()[c] = static_cast<float>(1.0 / std::sqrt(variance + epsilon));
        write_norm_sums(sums.data<float>() + c, channels, s1 + count * shift,
                        s2 + 2.0 * shift * s1 + count * shift * shift);
      }
    });
  }

  void moments(Tensor& mean, Tensor& variance, const Tensor& sums, double positions) override {
    constexpr const char* kOp = "batch_norm_moments";
    const int64_t channels = mean.elements();
    require_elements(kOp, variance, channels);
    require_elements(kOp, sums, kNormSums * channels);
    for (int64_t c = 0; c < channels; ++c) {
      const Moments found = norm_moments(sums.data<float>() + c, channels, positions);
      mean.data<float>()[c] = found.mean;
      variance.data<float>()[c] = found.variance;
    }
  }

  void apply(Tensor& y, const Tensor& x, const Tensor& mean, const Tensor& rstd,
             const Tensor& gamma, const Tensor& beta) override {
    constexpr const char* kOp = "batch_norm_apply";
    require_channels(kOp, y, x, mean, rstd, gamma);
    require_alike(kOp, gamma, beta);
    const auto* a = rstd.data<float>();
    normalize_channels(kOp, y, x, mean, beta, [&](int64_t c) { return a[c] * gamma_at(gamma, c); });
  }

  void inference(Tensor& y, const Tensor& x, const Tensor& mean, const Tensor& variance,
                 const Tensor& gamma, const Tensor& beta, float epsilon) override {
    constexpr const char* kOp = "batch_norm_inference";
    require_channels(kOp, y, x, mean, variance, gamma);
    require_alike(kOp, gamma, beta);
    const auto* v = variance.data<float>();
    normalize_channels(kOp, y, x, mean, beta,
                       [&](int64_t c) { return gamma_at(gamma, c) / std::sqrt(v[c] + epsilon); });
  }

  void gradients(Tensor& dparameters, const Tensor& g, const Tensor& x, const Tensor& mean,
                 const Tensor& rstd) override {
    constexpr const char* kOp = "batch_norm_gradients";
    require_channels(kOp, g, x, mean, rstd, mean);
    require_elements(kOp, dparameters, 2 * mean.elements());
    const int64_t channels = x.shape().back();
    const WideRows rows = folded_rows(x.elements(), channels);
    const Tensor centre =
        tiled(context_, rows, 1, [&](int /*k*/, int64_t c) { return mean.data<float>()[c]; });
    with_element_type(x.dtype(), kOp, [&]<class T>(T) {
      const T* from = x.data<T>();
      const T* gradient = g.data<T>();
      const auto* mu = centre.data<float>();
      const Tensor sums =
          column_sums<2>(context_, rows, [=](int64_t /*row*/, int64_t j, int64_t i) {
            const auto gi = static_cast<float>(gradient[i]);
            return std::array<float, 2>{gi * (static_cast<float>(from[i]) - mu[j]), gi};
          });
      auto* dgamma = dparameters.data<float>();
      float* dbeta = dgamma + channels;
      for (int64_t c = 0; c < channels; ++c) {
        dgamma[c] = static_cast<float>(sums.data<double>()[c] * rstd.data<float>()[c]);
        dbeta[c] = static_cast<float>(sums.data<double>()[channels + c]);
      }
    });
  }

  // dx = gamma rstd (g - dbeta / positions - n dgamma / positions), where n is the normalised x.
  void backward_input(Tensor& dx, const Tensor& dparameters, int64_t positions, const Tensor& g,
                      const Tensor& x, const Tensor& mean, const Tensor& rstd,
                      const Tensor& gamma) override {
    constexpr const char* kOp = "batch_norm_backward_input";
    require_channels(kOp, dx, x, mean, rstd, gamma);
    require_alike(kOp, g, x);
    require_elements(kOp, dparameters, 2 * mean.elements());
    const WideRows rows = folded_rows(x.elements(), x.shape().back());
    const auto* r = rstd.data<float>();
    const auto* dgamma = dparameters.data<float>();
    const float* dbeta = dgamma + mean.elements();
    const float share = 1.0F / static_cast<float>(positions);
    const Tensor wide = tiled(context_, rows, 4, [&](int k, int64_t c) {
      if (k == 0) return gamma_at(gamma, c) * r[c];
      if (k == 1) return dbeta[c] * share;
      return k == 2 ? r[c] * dgamma[c] * share : mean.data<float>()[c];
    });
    const auto* a = wide.data<float>();
    const float* b = a + rows.width();
    const float* d = b + rows.width();
    const float* mu = d + rows.width();
    with_element_type(x.dtype(), kOp, [&]<class T>(T) {
      const T* from = x.data<T>();
      const T* gradient = g.data<T>();
      for_channels(context_, rows, dx.data<T>(), [=](int64_t j, int64_t i) {
        return a[j] * (static_cast<float>(gradient[i]) - b[j] -
                       (static_cast<float>(from[i]) - mu[j]) * d[j]);
      });
    });
  }

 private:
  static float gamma_at(const Tensor& gamma, int64_t c) { return gamma.data<float>()[c]; }

  // Computes y = (x - mean) factor(channel) + beta.
  template <class F>
  void normalize_channels(const char* op, Tensor& y, const Tensor& x, const Tensor& mean,
                          const Tensor& beta, const F& factor) {
    const WideRows rows = folded_rows(x.elements(), x.shape().back());
    const Tensor wide = tiled(context_, rows, 3, [&](int k, int64_t c) {
      if (k == 0) return mean.data<float>()[c];
      return k == 1 ? factor(c) : beta.data<float>()[c];
    });
    const auto* mu = wide.data<float>();
    const float* a = mu + rows.width();
    const float* b = a + rows.width();
    with_element_type(x.dtype(), op, [&]<class T>(T) {
      const T* from = x.data<T>();
      for_channels(context_, rows, y.data<T>(), [=](int64_t j, int64_t i) {
        return (static_cast<float>(from[i]) - mu[j]) * a[j] + b[j];
      });
    });
  }
};

}  // namespace

std::unique_ptr<BatchNormOps> cpu_batch_norm_ops(CpuContext& context) {
  return std::make_unique<CpuBatchNorm>(context);
}

}  // namespace penstock
