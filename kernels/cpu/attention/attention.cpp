// kernels/cpu/attention/attention.cpp -- softmax, rotary positions, and multi-head attention
// (tiled_attention.h): checks, and passes over rows.
#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/cpu/attention/tiled_attention.h"
#include "kernels/cpu/loops/maps.h"
#include "kernels/ops/attention_sinks.h"

namespace penstock {
namespace {

// Rotary positions: turns one head of one position by the angles of its place (Su et al. 2021).
// Overwrites y, `depth` elements, with x in which each of the depth / 2 `pairs` is turned. `waves`
// are the depth / 2 cosines of the place's angles, then their sines. `back` turns the other way. y
// may be x.
template <class T>
void rotary_row(T* y, const T* x, const float* waves, int64_t depth, RotaryPairs pairs, bool back) {
  const int64_t half = depth / 2;
  const float sign = back ? -1.0F : 1.0F;
  const auto turn = [=](int64_t pair, int64_t first, int64_t second) {
    const auto a = static_cast<float>(x[first]);
    const auto b = static_cast<float>(x[second]);
    const float cosine = waves[pair];
    const float sine = sign * waves[pair + half];
    y[first] = static_cast<T>(a * cosine - b * sine);
    y[second] = static_cast<T>(b * cosine + a * sine);
  };
  if (pairs == RotaryPairs::Neighbours) {
#pragma GCC ivdep
    for (int64_t c = 0; c < half; ++c) turn(c, 2 * c, 2 * c + 1);
    return;
  }
#pragma GCC ivdep
  for (int64_t c = 0; c < half; ++c) turn(c, c, c + half);
}

class CpuAttention final : public OnCpu<AttentionOps> {
 public:
  using OnCpu::OnCpu;

  void softmax_forward(Tensor& y, const Tensor& x) override {
    require_alike("softmax_forward", y, x);
    const int64_t width = x.shape().back();
    with_element_type(x.dtype(), "softmax_forward", [&]<class T>(T) {
      for_rows(context_, x, [=, to = y.data<T>(), from = x.data<T>()](int64_t row) {
        softmax_row(to + row * width, from + row * width, width);
      });
    });
  }
  void softmax_backward(Tensor& dx, const Tensor& g, const Tensor& y) override {
    require_alike("softmax_backward", dx, y);
    require_alike("softmax_backward", g, y);
    const int64_t width = y.shape().back();
    with_element_type(y.dtype(), "softmax_backward", [&]<class T>(T) {
      for_rows(
          context_, y, [=, to = dx.data<T>(), from = g.data<T>(), of = y.data<T>()](int64_t row) {
            softmax_backward_row(to + row * width, from + row * width, of + row * width, width);
          });
    });
  }

  void rotary(Tensor& y, const Tensor& x, const Tensor& table, const Tensor* places,
              RotaryPairs pairs, bool back) override {
    constexpr const char* kOp = "rotary";
    const RotarySizes sizes = rotary_sizes(kOp, y, x, table, places);
    const int32_t* at = places == nullptr ? nullptr : places->data<int32_t>();
    const int64_t width = sizes.heads * sizes.depth;
    with_element_type(x.dtype(), kOp, [&]<class T>(T) {
      const float* waves = table.data<float>();
      for_rows(context_, x, [=, to = y.data<T>(), from = x.data<T>()](int64_t row) {
        const int64_t place = at == nullptr ? row % sizes.time : at[row];
        for (int64_t head = 0; head < width; head += sizes.depth) {
          rotary_row(to + row * width + head, from + row * width + head,
                     waves + place * sizes.depth, sizes.depth, pairs, back);
        }
      });
    });
  }

  void attention_forward(Tensor& out, Tensor& logsumexp, const Tensor& q, const Tensor& k,
                         const Tensor& v, const AttentionMask& mask,
                         const AttentionOptions& options) override {
    constexpr const char* kOp = "attention_forward";
    const AttentionSizes sizes = attention_sizes(kOp, q, k, v, mask, options);
    require_alike(kOp, out, q);
    require_elements(kOp, logsumexp, sizes.batch * sizes.heads * sizes.queries);
    with_element_type(q.dtype(), kOp, [&]<class T>(T) {
      if (sizes.see_nothing()) {
        std::ranges::fill(out.span<T>(), T(0.0F));
        std::ranges::fill(logsumexp.span<float>(), -std::numeric_limits<float>::infinity());
        return;
      }
      TiledAttention<T>(context_, sizes, mask, options)
          .forward(out.data<T>(), logsumexp.data<float>(), q.data<T>(), k.data<T>(), v.data<T>());
    });
  }
  void attention_backward(Tensor& dq, Tensor& dk, Tensor& dv, const Tensor& g, const Tensor& q,
                          const Tensor& k, const Tensor& v, const Tensor& out,
                          const Tensor& logsumexp, const AttentionMask& mask,
                          const AttentionOptions& options) override {
    constexpr const char* kOp = "attention_backward";
    const AttentionSizes sizes = attention_sizes(kOp, q, k, v, mask, options);
    for (const Tensor& t : {dq, g, out}) require_alike(kOp, t, q);
    for (const Tensor& t : {dk, dv}) require_alike(kOp, t, k);
    require_elements(kOp, logsumexp, sizes.batch * sizes.heads * sizes.queries);
    with_element_type(q.dtype(), kOp, [&]<class T>(T) {
      if (sizes.see_nothing()) {
        for (const Tensor& t : {dq, dk, dv}) std::ranges::fill(t.span<T>(), T(0.0F));
        return;
      }
      TiledAttention<T>(context_, sizes, mask, options)
          .backward(dq.data<T>(), dk.data<T>(), dv.data<T>(), g.data<T>(), q.data<T>(), k.data<T>(),
                    v.data<T>(), out.data<T>(), logsumexp.data<float>());
    });
  }

  void add_sinks(Tensor& out, Tensor& logsumexp, const Tensor& sinks) override {
    const SinkSizes sizes = sink_sizes("add_sinks", out, logsumexp, sinks);
    with_element_type(out.dtype(), "add_sinks", [&]<class T>(T) {
      for_rows(context_, sizes.rows, sizes.depth + 50,
               [&](int64_t row) {  // by position, then by head
                 float& sum = logsumexp.data<float>()[row_of_sums(sizes, row)];
                 const float sink = sinks.data<float>()[row % sizes.heads];
                 const float top = std::max(sum, sink);
                 const float all = top + std::log(std::exp(sum - top) + std::exp(sink - top));
                 T* line = out.data<T>() + row * sizes.depth;
                 map_row(line, line, sizes.depth,
                         [share = std::exp(sum - all)](float x) { return share * x; });
                 sum = all;
               });
    });
  }
  void sinks_backward(Tensor& dsinks, const Tensor& g, const Tensor& out, const Tensor& logsumexp,
                      const Tensor& sinks) override {
    const SinkSizes sizes = sink_sizes("sinks_backward", out, logsumexp, sinks);
    require_alike("sinks_backward", g, out);
    require_alike("sinks_backward", dsinks, sinks);
    const int64_t positions = sizes.rows / sizes.heads;
    with_element_type(out.dtype(), "sinks_backward", [&]<class T>(T) {
      const T* gradient = g.data<T>();
      const T* result = out.data<T>();
      const float* sums = logsumexp.data<float>();
      const float* sink = sinks.data<float>();
      float* to = dsinks.data<float>();
      for_rows(context_, sizes.heads, positions * (sizes.depth + 20), [=](int64_t h) {
        const float score = sink[h];
        float sum = 0.0F;
        for (int64_t position = 0; position < positions; ++position) {
          const int64_t row = position * sizes.heads + h;
          const int64_t at = row * sizes.depth;
          const float dot = simd_dot(gradient + at, result + at, sizes.depth);
          // This says that it is rounded once. A compiler fuses a product and a sum, or does not,
          // by what surrounds them: it did so in the copy of the loop for one thread alone.
          sum = std::fma(-std::exp(score - sums[row_of_sums(sizes, row)]), dot, sum);
        }
        to[h] = sum;
      });
    });
  }

 private:
  // logsumexp is [b, heads, t], where all else is [b, t, heads].
  static int64_t row_of_sums(const SinkSizes& sizes, int64_t row) {
    const int64_t position = row / sizes.heads;
    return (position / sizes.time * sizes.heads + row % sizes.heads) * sizes.time +
           position % sizes.time;
  }
};

}  // namespace

std::unique_ptr<AttentionOps> cpu_attention_ops(CpuContext& context) {
  return std::make_unique<CpuAttention>(context);
}

}  // namespace penstock
