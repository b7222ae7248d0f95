// kernels/cuda/families/row_norm.cu -- layer norm and RMS norm, by row_norm_kernels.h.
#include "kernels/checks.h"
#include "kernels/cuda/families/row_norm_kernels.h"

namespace penstock {
namespace {

// Computes a layer norm, or, without centring, an RMS norm. `shift` is the beta of a layer norm,
// null where it has none and for an RMS norm; `offset` is that of an RMS norm, and 0 for a layer
// norm.
template <bool kCentred>
void norm_forward(CudaContext& context, const char* op, Tensor& y,
                  const RowNormStatistics& statistics, const Tensor& x, const Tensor& gamma,
                  const float* shift, float offset, float epsilon) {
  const int64_t width = x.shape().back();
  const int64_t rows = x.shape().rows();
  with_element_type(x.dtype(), op, [&]<class T>(T) {
    constexpr int kWide = kGroup<T>;
    T* to = y.data<T>();
    const T* from = x.data<T>();
    const auto* scale = gamma.data<float>();
    const bool aligned = is_aligned<kWide>(to) && is_aligned<kWide>(from) && is_aligned<4>(scale) &&
                         is_aligned<4>(shift);
    by_norm_width<T>(width, aligned, [&]<int N, bool kAligned, int kThreads>() {
      launch(context.queue, &row_norm_forward_kernel<T, N, kAligned, kThreads, kCentred>,
             row_shape<kThreads>(rows), to, statistics, from, scale, shift, offset, rows, width,
             epsilon);
    });
  });
}

template <bool kCentred>
void norm_backward_input(CudaContext& context, const char* op, Tensor& dx, const Tensor& g,
                         const Tensor& x, const RowNormStatistics& statistics, const Tensor& gamma,
                         float offset) {
  const int64_t width = x.shape().back();
  const int64_t rows = x.shape().rows();
  with_element_type(x.dtype(), op, [&]<class T>(T) {
    constexpr int kWide = kGroup<T>;
    T* to = dx.data<T>();
    const T* gradient = g.data<T>();
    const T* from = x.data<T>();
    const auto* scale = gamma.data<float>();
    const bool aligned = is_aligned<kWide>(to) && is_aligned<kWide>(gradient) &&
                         is_aligned<kWide>(from) && is_aligned<4>(scale);
    by_norm_width<T>(width, aligned, [&]<int N, bool kAligned, int kThreads>() {
      launch(context.queue, &row_norm_backward_kernel<T, N, kAligned, kThreads, kCentred>,
             row_shape<kThreads>(rows), to, gradient, from, statistics, scale, offset, rows, width);
    });
  });
}

template <bool kCentred>
void norm_backward_weight(CudaContext& context, const char* op, Tensor& dgamma, float* dbeta,
                          const Tensor& g, const Tensor& x, const RowNormStatistics& statistics) {
  const AddRowNormTotals<kCentred> finish{dgamma.data<float>(), dbeta};
  with_element_type(x.dtype(), op, [&]<class T>(T) {
    const RowNormGradient<T, kCentred> body{g.data<T>(), x.data<T>(), statistics.mean,
                                            statistics.rstd};
    launch_column_sums(context, body, finish, x.elements(), x.shape().back());
  });
}

class CudaRowNorm final : public RowNormOps {
 public:
  explicit CudaRowNorm(CudaContext& context) : context_(context) {}

  void layer_norm_forward(Tensor& y, Tensor& mean, Tensor& rstd, const Tensor& x,
                          const Tensor& gamma, const Tensor& beta, float epsilon) override {
    require_rows("layer_norm_forward", y, x, mean, rstd, gamma);
    if (beta) require_alike("layer_norm_forward", gamma, beta);
    norm_forward<true>(context_, "layer_norm_forward", y, {mean.data<float>(), rstd.data<float>()},
                       x, gamma, beta ? beta.data<float>() : nullptr, 0.0F, epsilon);
  }

  void layer_norm_backward_input(Tensor& dx, const Tensor& g, const Tensor& x, const Tensor& mean,
                                 const Tensor& rstd, const Tensor& gamma) override {
    require_rows("layer_norm_backward_input", dx, x, mean, rstd, gamma);
    require_alike("layer_norm_backward_input", g, x);
    norm_backward_input<true>(context_, "layer_norm_backward_input", dx, g, x,
                              {mean.data<float>(), rstd.data<float>()}, gamma, 0.0F);
  }

  void layer_norm_backward_weight(Tensor& dgamma, Tensor& dbeta, const Tensor& g, const Tensor& x,
                                  const Tensor& mean, const Tensor& rstd) override {
    require_rows("layer_norm_backward_weight", g, x, mean, rstd, dgamma);
    if (dbeta) require_alike("layer_norm_backward_weight", dgamma, dbeta);
    float* const shift = dbeta ? dbeta.data<float>() : nullptr;
    norm_backward_weight<true>(context_, "layer_norm_backward_weight", dgamma, shift, g, x,
                               {mean.data<float>(), rstd.data<float>()});
  }

  void rms_norm_forward(Tensor& y, Tensor& rstd, const Tensor& x, const Tensor& gamma, float offset,
                        float epsilon) override {
    require_rows("rms_norm_forward", y, x, rstd, rstd, gamma);
    norm_forward<false>(context_, "rms_norm_forward", y, {nullptr, rstd.data<float>()}, x, gamma,
                        nullptr, offset, epsilon);
  }

  void rms_norm_backward_input(Tensor& dx, const Tensor& g, const Tensor& x, const Tensor& rstd,
                               const Tensor& gamma, float offset) override {
    require_rows("rms_norm_backward_input", dx, x, rstd, rstd, gamma);
    require_alike("rms_norm_backward_input", g, x);
    norm_backward_input<false>(context_, "rms_norm_backward_input", dx, g, x,
                               {nullptr, rstd.data<float>()}, gamma, offset);
  }

  void rms_norm_backward_weight(Tensor& dgamma, const Tensor& g, const Tensor& x,
                                const Tensor& rstd) override {
    require_rows("rms_norm_backward_weight", g, x, rstd, rstd, dgamma);
    norm_backward_weight<false>(context_, "rms_norm_backward_weight", dgamma, nullptr, g, x,
                                {nullptr, rstd.data<float>()});
  }

 private:
  CudaContext& context_;
};

}  // namespace

std::unique_ptr<RowNormOps> cuda_row_norm_ops(CudaContext& context) {
  return std::make_unique<CudaRowNorm>(context);
}

}  // namespace penstock
