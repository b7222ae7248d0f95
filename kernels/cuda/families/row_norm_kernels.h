// kernels/cuda/families/row_norm_kernels.h -- the kernels of layer norm (Ba et al. 2016) and of
// RMS norm (Zhang and Sennrich 2019), which takes 0 for the mean. Bound by memory: a row is read
// once and stays in registers while its mean, then the squares around it, are summed.
#pragma once

#include "kernels/cuda/loops/column_sums.h"
#include "kernels/cuda/loops/rows.h"

namespace penstock {
constexpr int kHeldGroups = 4;  // groups of 16 bytes that a thread keeps of each tensor

struct RowNormStatistics {
  float* mean;  // not read or written by an RMS norm, which has neither mean nor beta
  float* rstd;
};

// Overwrites y and the statistics of each row. kCentred: layer norm, whose `beta` may be null; else
// RMS norm, which does not read it. `offset` is added to gamma. N elements make a group, which a
// thread reads at once; kAligned: in one access. kThreads threads share a row. `width` must be a
// multiple of N. Launch it with row_shape<kThreads>(rows).
template <class T, int N, bool kAligned, int kThreads, bool kCentred>
__global__ void __launch_bounds__(kThreads == kWarp ? kWarp * kRowsPerBlock : kThreads)
    row_norm_forward_kernel(T* y, RowNormStatistics statistics, const T* x, const float* gamma,
                            const float* beta, float offset, int64_t rows, int64_t width,
                            float epsilon) {
  __shared__ float parts[kThreads / kWarp];
  const int64_t row = row_of_thread<kThreads>();
  if (row >= rows) return;
  const int64_t groups = width / N;
  const auto count = static_cast<float>(width);
  const T* from = x + row * width;
  T* to = y + row * width;
  const auto x_at = [from](int64_t group) { return load<N, kAligned>(from + group * N); };
  HeldRow<N, kThreads, kHeldGroups> held;
  held.read(groups, x_at);

  float mean = 0.0F;
  if constexpr (kCentred) {
    float sum = 0.0F;
    held.each(groups, x_at, [&sum](int64_t /*group*/, const Floats<N>& v) {
      for (int k = 0; k < N; ++k) sum += v[k];
    });
    mean = row_reduce<kThreads>(sum, parts, Plus{}) / count;
  }
  float squares = 0.0F;
  held.each(groups, x_at, [&squares, mean](int64_t /*group*/, const Floats<N>& v) {
    for (int k = 0; k < N; ++k) squares += (v[k] - mean) * (v[k] - mean);
  });
  const float variance = row_reduce<kThreads>(squares, parts, Plus{}) / count;
  const float rstd = 1.0F / sqrtf(variance + epsilon);
  held.each(groups, x_at, [=](int64_t group, const Floats<N>& v) {
    const Floats<N> scale = load<N, kAligned>(gamma + group * N);
    Floats<N> out;
    if constexpr (kCentred) {
      for (int k = 0; k < N; ++k) out[k] = (v[k] - mean) * rstd * scale[k];
      if (beta != nullptr) {
        const Floats<N> shift = load<N, kAligned>(beta + group * N);
        for (int k = 0; k < N; ++k) out[k] += shift[k];
      }
    } else {
      for (int k = 0; k < N; ++k) out[k] = v[k] * rstd * (offset + scale[k]);
    }
    store<N, kAligned>(to + group * N, out);
  });
  if (threadIdx.x == 0) {
    if constexpr (kCentred) statistics.mean[row] = mean;
    statistics.rstd[row] = rstd;
  }
}

// Overwrites dx = rstd (h - mean(h) - n mean(h n)), where h = g (offset + gamma), n is the
// normalised x and mean() is that over a row. The term mean(h) is missing in an RMS norm, which
// takes no mean away. g is the gradient of y. The template parameters are those of the forward.
template <class T, int N, bool kAligned, int kThreads, bool kCentred>
__global__ void __launch_bounds__(kThreads == kWarp ? kWarp * kRowsPerBlock : kThreads)
    row_norm_backward_kernel(T* dx, const T* g, const T* x, RowNormStatistics statistics,
                             const float* gamma, float offset, int64_t rows, int64_t width) {
  __shared__ float2 parts[kThreads / kWarp];
  const int64_t row = row_of_thread<kThreads>();
  if (row >= rows) return;
  const int64_t groups = width / N;
  const auto count = static_cast<float>(width);
  const float mean = kCentred ? statistics.mean[row] : 0.0F;
  const float rstd = statistics.rstd[row];
  const T* from = x + row * width;
  const T* gradient = g + row * width;
  T* to = dx + row * width;
  const auto n_at = [=](int64_t group) {
    Floats<N> v = load<N, kAligned>(from + group * N);
    for (int k = 0; k < N; ++k) v[k] = (v[k] - mean) * rstd;
    return v;
  };
  const auto h_at = [=](int64_t group) {
    Floats<N> v = load<N, kAligned>(gradient + group * N);
    const Floats<N> scale = load<N, kAligned>(gamma + group * N);
    for (int k = 0; k < N; ++k) v[k] *= offset + scale[k];
    return v;
  };
  using Held = HeldRow<N, kThreads, kHeldGroups>;
  Held n_held;
  Held h_held;
  n_held.read(groups, n_at);
  h_held.read(groups, h_at);
  // Visits both rows at once: each group of n with the h that belongs to it.
  const auto each = [&](const auto& visit) {
#pragma unroll
    for (int i = 0; i < kHeldGroups; ++i) {
      const int64_t group = int64_t{i} * kThreads + static_cast<int64_t>(threadIdx.x);
      if (group < groups) visit(group, n_held.held[i], h_held.held[i]);
    }
    for (int64_t group = int64_t{kHeldGroups} * kThreads + static_cast<int64_t>(threadIdx.x);
         group < groups; group += kThreads) {
      visit(group, n_at(group), h_at(group));
    }
  };
  float2 sums = make_float2(0.0F, 0.0F);
  each([&sums](int64_t /*group*/, const Floats<N>& n, const Floats<N>& h) {
    for (int k = 0; k < N; ++k) {
      sums.x += h[k];
      sums.y += h[k] * n[k];
    }
  });
  sums = row_reduce<kThreads>(sums, parts,
                              [](float2 a, float2 b) { return make_float2(a.x + b.x, a.y + b.y); });
  const float mean_h = kCentred ? sums.x / count : 0.0F;
  const float mean_hn = sums.y / count;
  each([=](int64_t group, const Floats<N>& n, const Floats<N>& h) {
    Floats<N> out;
    for (int k = 0; k < N; ++k) out[k] = rstd * (h[k] - mean_h - n[k] * mean_hn);
    store<N, kAligned>(to + group * N, out);
  });
}

// Calls f.template operator()<N, kAligned, kThreads>() with the template parameters for rows of
// `width` elements: N is 16 bytes' worth of elements where the width is a multiple of that, else 1;
// kThreads is a warp or a block, large enough to keep a row in registers if 512 threads can.
// `aligned`: all tensors start at multiples of 16 bytes.
template <class T, class F>
void by_norm_width(int64_t width, bool aligned, const F& f) {
  constexpr int kWide = kGroup<T>;
  constexpr int kBlock = 128;
  constexpr int kLargeBlock = 512;
  const auto by_threads = [&]<int N, bool kAligned>() {
    const int64_t groups = width / N;
    if (groups <= kWarp * kHeldGroups) {
      f.template operator()<N, kAligned, kWarp>();
    } else if (groups <= kBlock * kHeldGroups) {
      f.template operator()<N, kAligned, kBlock>();
    } else {
      f.template operator()<N, kAligned, kLargeBlock>();
    }
  };
  if (width % kWide != 0) {
    by_threads.template operator()<1, true>();
  } else if (aligned) {
    by_threads.template operator()<kWide, true>();
  } else {
    by_threads.template operator()<kWide, false>();
  }
}

// The Body of a sum (column_sums.h): for each column the sums over the rows of g n, the gradient of
// gamma, and of g, the gradient of beta, where n is the normalised x. An RMS norm has the first
// alone, and its `mean` is not read.
template <class T, bool kCentred>
struct RowNormGradient {
  static constexpr int kWide = kGroup<T>;
  static constexpr int kTerms = kCentred ? 2 : 1;
  static constexpr bool kByRow = true;
  const T* g;
  const T* x;
  const float* mean;
  const float* rstd;
  [[nodiscard]] bool aligned() const { return is_aligned<kWide>(g) && is_aligned<kWide>(x); }
  template <int N>
  __device__ NoColumns columns(int64_t /*j*/, int64_t /*columns*/) const {
    return {};
  }
  template <int N, bool kAligned>
  __device__ void add(Floats<N> (&sums)[kTerms], int64_t row, int64_t i, NoColumns /*c*/) const {
    const Floats<N> gradient = load<N, kAligned>(g + i);
    const Floats<N> from = load<N, kAligned>(x + i);
    const float mu = kCentred ? mean[row] : 0.0F;
    const float scale = rstd[row];
    for (int k = 0; k < N; ++k) {
      sums[0][k] += gradient[k] * ((from[k] - mu) * scale);
      if constexpr (kCentred) sums[1][k] += gradient[k];
    }
  }
};
// The Finish of that sum: adds a column's totals to dgamma and dbeta. An RMS norm does not touch
// `dbeta`, nor does a layer norm where it is null.
template <bool kCentred>
struct AddRowNormTotals {
  float* dgamma;
  float* dbeta;
  __device__ void operator()(int64_t column, const double (&totals)[kCentred ? 2 : 1]) const {
    dgamma[column] += static_cast<float>(totals[0]);
    if constexpr (kCentred) {
      if (dbeta != nullptr) dbeta[column] += static_cast<float>(totals[1]);
    }
  }
};

}  // namespace penstock
