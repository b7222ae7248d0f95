// kernels/cpu/row_norm.cpp -- layer norm (Ba et al. 2016) and RMS norm (Zhang and Sennrich 2019) as
// vectorised loops. oneDNN has a layer norm, but it is scalar.
#include <array>

#include "kernels/cpu/loops/column_sums.h"
#include "kernels/cpu/loops/layer_norm_rows.h"
#include "kernels/cpu/loops/loops.h"

namespace penstock {
namespace {

template <class F>
void for_rows_of(const CpuContext& context, const Tensor& x, const F& f) {
  for_ranges(context, x.shape().rows(), x.shape().back(), [&f](int64_t first, int64_t last) {
    for (int64_t row = first; row < last; ++row) f(row);
  });
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
      for_rows_of(context_, x, [&](int64_t row) {
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
      for_rows_of(context_, x, [&](int64_t row) {
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
    const Tensor sums = scratch(context_, 2 * width, DType::F64);
    with_element_type(x.dtype(), "layer_norm_backward_weight", [&]<class T>(T) {
      const T* from = x.data<T>();
      const T* gradient = g.data<T>();
      const auto* mu = mean.data<float>();
      const auto* scale = rstd.data<float>();
      column_sums<2>(context_, plain_rows(x.elements(), width), sums.data<double>(),
                     [=](int64_t row, int64_t /*column*/, int64_t i) {
                       const auto gi = static_cast<float>(gradient[i]);
                       const float n = (static_cast<float>(from[i]) - mu[row]) * scale[row];
                       return std::array<float, 2>{gi * n, gi};
                     });
    });
    for (int64_t c = 0; c < width; ++c) {
      dgamma.data<float>()[c] += static_cast<float>(sums.data<double>()[c]);
      if (dbeta) dbeta.data<float>()[c] += static_cast<float>(sums.data<double>()[width + c]);
    }
  }

  void rms_norm_forward(Tensor& y, Tensor& rstd, const Tensor& x, const Tensor& gamma, float offset,
                        float epsilon) override {
    require_rows("rms_norm_forward", y, x, rstd, rstd, gamma);
    const int64_t width = x.shape().back();
    with_element_type(x.dtype(), "rms_norm_forward", [&]<class T>(T) {
      for_rows_of(context_, x, [&](int64_t row) {
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
      for_rows_of(context_, x, [&](int64_t row) {
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
    const Tensor sums = scratch(context_, width, DType::F64);
    with_element_type(x.dtype(), "rms_norm_backward_weight", [&]<class T>(T) {
      const T* from = x.data<T>();
      const T* gradient = g.data<T>();
      const auto* scale = rstd.data<float>();
      column_sums<1>(context_, plain_rows(x.elements(), width), sums.data<double>(),
                     [=](int64_t row, int64_t /*column*/, int64_t i) {
                       const auto gi = static_cast<float>(gradient[i]);
                       return std::array<float, 1>{gi * (static_cast<float>(from[i]) * scale[row])};
                     });
    });
    for (int64_t c = 0; c < width; ++c) {
      dgamma.data<float>()[c] += static_cast<float>(sums.data<double>()[c]);
    }
  }
};

}  // namespace

std::unique_ptr<RowNormOps> cpu_row_norm_ops(CpuContext& context) {
  return std::make_unique<CpuRowNorm>(context);
}

}  // namespace penstock
