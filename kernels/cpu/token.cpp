// kernels/cpu/token.cpp -- embedding tables, and softmax cross-entropy in one pass over the logits.
#include <cmath>
#include <limits>

#include "kernels/cpu/loops/loops.h"
#include "kernels/cpu/loops/simd_math.h"

namespace penstock {
namespace {

// Throws Error(Input) for the first of the ids [first, last) that is below `lowest`, or is `limit`
// or more. The text `what` says what an id is, and `made_for` what the network has `limit` of.
void check_ids(const Tensor& ids, int64_t first, int64_t last, int32_t lowest, int64_t limit,
               const char* what, const char* made_for) {
  const auto* id = ids.data<int32_t>();
  for (int64_t r = first; r < last; ++r) {
    if (id[r] < lowest || id[r] >= limit) {
      fail_input(std::string(what) + " " + std::to_string(id[r]) + " in row " + std::to_string(r) +
                 " is outside of 0 .. " + std::to_string(limit - 1) + ", the " + made_for +
                 " of the network: do the data fit it?");
    }
  }
}

struct Clip {
  float limit;  // infinite if nothing is clipped
  explicit Clip(float clip) : limit(clip > 0.0F ? clip : __builtin_inff()) {}
  [[nodiscard]] float operator()(float x) const {
    const float below = x > limit ? limit : x;
    return below < -limit ? -limit : below;
  }
};

struct RowSums {
  float largest;  // largest logit before clipping
  float logsumexp;
  double sum;  // sum of the clipped logits, if the caller asks for it
};

// Returns the sums of a row, taken in blocks that stay in the first-level cache. Whenever a block
// holds a larger logit than those before, the sum of exponentials so far is scaled down.
template <class T>
RowSums row_sums(const T* x, int64_t classes, const Clip& clip, bool with_sum) {
  constexpr int64_t kBlock = 1024;
  float largest = -__builtin_inff();
  float exponentials = 0.0F;
  double sum = 0.0;
  for (int64_t begin = 0; begin < classes; begin += kBlock) {
    const T* from = x + begin;
    const int64_t count = std::min(kBlock, classes - begin);
    const float top = simd_max(count, [from](int64_t i) { return static_cast<float>(from[i]); });
    const float highest = clip(std::max(top, largest));
    // If all logits so far are -infinity, 0 is subtracted, because -infinity minus -infinity is
    // NaN.
    const float shift = highest == -__builtin_inff() ? 0.0F : highest;
    // If nothing was summed yet, `largest` can be -infinity, so no difference is taken.
    const float shrink = exponentials == 0.0F ? 0.0F : std::exp(clip(largest) - shift);
    largest = std::max(top, largest);
    exponentials = exponentials * shrink + simd_sum(count, [from, shift, &clip](int64_t i) {
                     return simd_exp(clip(static_cast<float>(from[i])) - shift);
                   });
    if (!with_sum) continue;
    sum += simd_sum(count, [from, &clip](int64_t i) { return clip(static_cast<float>(from[i])); });
  }
  return {largest, clip(largest) + std::log(exponentials), sum};
}

// Returns whether the label's logit is the largest, and no earlier logit equals it.
template <class T>
bool is_first_largest(const T* x, int32_t label, float largest) {
  if (static_cast<float>(x[label]) != largest) return false;
  for (int32_t i = 0; i < label; ++i) {
    if (static_cast<float>(x[i]) == largest) return false;
  }
  return true;
}

struct Target {
  float label, other;  // targets: `other` for every class, `label` added for the label
  [[nodiscard]] bool smooth() const { return other != 0.0F; }
  Target(const CrossEntropyOptions& options, int64_t classes)
      : label(1.0F - options.label_smoothing),
        other(options.label_smoothing / static_cast<float>(classes)) {}
};

// Sets dx = scale (softmax * pull - target), and 0 where the logit was clipped. dx can be the same
// tensor as x.
template <class T>
void cross_entropy_backward_row(T* dx, const T* x, int64_t classes, int32_t label, float logsumexp,
                                float scale, float pull, const Clip& clip, const Target& target) {
  const auto at_label = static_cast<float>(x[label]);
#pragma GCC ivdep
  for (int64_t i = 0; i < classes; ++i) {
    const auto logit = static_cast<float>(x[i]);
    const float clipped = clip(logit);
    const float gradient = scale * (simd_exp(clipped - logsumexp) * pull - target.other);
    dx[i] = static_cast<T>(clipped == logit ? gradient : 0.0F);
  }
  const float clipped = clip(at_label);
  if (clipped == at_label) {
    const float probability = simd_exp(clipped - logsumexp);
    dx[label] = static_cast<T>(scale * (probability * pull - target.other - target.label));
  }
}

class CpuToken final : public OnCpu<TokenOps> {
 public:
  using OnCpu::OnCpu;

  void embedding_forward(Tensor& y, const Tensor& ids, const Tensor& table) override {
    const int64_t width = table.dim(1);
    require_elements("embedding_forward", y, ids.elements() * width);
    check_ids(ids, 0, ids.elements(), 0, table.dim(0), "token id", "vocabulary");
    const auto* id = ids.data<int32_t>();
    with_element_type(y.dtype(), "embedding_forward", [&]<class T>(T) {
      T* to = y.data<T>();
      const auto copy_rows = [&]<class S>(const S* from) {
        for_rows(context_, ids.elements(), width, [=](int64_t r) {
          const S* row = from + id[r] * width;
#pragma GCC ivdep
          for (int64_t c = 0; c < width; ++c) to[r * width + c] = static_cast<T>(row[c]);
        });
      };
      if (table.dtype() == y.dtype()) return copy_rows(table.data<T>());
      copy_rows(table.data<float>());
    });
  }

  // Threads share the columns, and each gets at least 16 (a cache line). So each element of the
  // table is summed by one thread, in ascending order of positions.
  void embedding_backward(Tensor& dtable, const Tensor& ids, const Tensor& g) override {
    const int64_t width = dtable.dim(1);
    const int64_t rows = ids.elements();
    require_elements("embedding_backward", g, rows * width);
    check_ids(ids, 0, rows, 0, dtable.dim(0), "token id", "vocabulary");
    const auto* id = ids.data<int32_t>();
    auto* to = dtable.data<float>();
    constexpr int64_t kLine = 16;
    with_element_type(g.dtype(), "embedding_backward", [&]<class T>(T) {
      const T* from = g.data<T>();
      for_ranges(context_, (width + kLine - 1) / kLine, kLine * rows,
                 [=](int64_t first, int64_t last) {
                   const int64_t begin = first * kLine;
                   const int64_t end = std::min(last * kLine, width);
                   for (int64_t r = 0; r < rows; ++r) {
                     float* row = to + id[r] * width;
#pragma GCC ivdep
                     for (int64_t c = begin; c < end; ++c) {
                       row[c] += static_cast<float>(from[r * width + c]);
                     }
                   }
                 });
    });
  }

  void packed_places(Tensor& places, const Tensor& starts) override {
    require_alike("packed_places", places, starts);
    const int64_t time = starts.shape().back();
    for (int64_t i = 0; i < starts.elements(); ++i) {
      places.data<int32_t>()[i] = static_cast<int32_t>(i % time) - starts.data<int32_t>()[i];
    }
  }

  void cross_entropy_forward(Tensor& result, Tensor& logsumexp, const Tensor& logits,
                             const Tensor& labels, const CrossEntropyOptions& options,
                             int64_t first_row) override {
    const int64_t classes =
        check_rows("cross_entropy_forward", logits, labels, logsumexp, first_row);
    const int64_t rows = logits.shape().rows();
    require_elements("cross_entropy_forward", result, 3);
    const Clip clip(options.clip);
    const Target target(options, classes);
    const Tensor losses = scratch(context_, rows, DType::F64);
    const Tensor hits = scratch(context_, rows, DType::I32);
    auto* loss = losses.data<double>();
    auto* hit = hits.data<int32_t>();
    auto* lse = logsumexp.data<float>() + first_row;
    const auto* label = labels.data<int32_t>() + first_row;
    with_element_type(logits.dtype(), "cross_entropy_forward", [&]<class T>(T) {
      for_rows(context_, rows, classes, [=, from = logits.data<T>()](int64_t r) {
        const T* x = from + r * classes;
        const RowSums s = row_sums(x, classes, clip, target.smooth());
        lse[r] = s.logsumexp;
        if (label[r] < 0) return;
        const double wanted = double{target.label} * clip(static_cast<float>(x[label[r]]));
        // The logits of other classes do not count without smoothing. Their sum can be -infinity,
        // and 0 times -infinity is NaN, so it is not multiplied by 0.
        const double others = target.smooth() ? double{target.other} * s.sum : 0.0;
        loss[r] = double{s.logsumexp} - wanted - others;
        hit[r] = is_first_largest(x, label[r], s.largest) ? 1 : 0;
      });
    });
    auto* total = result.data<double>();
    if (first_row == 0) std::fill(total, total + 3, 0.0);
    for (int64_t r = 0; r < rows; ++r) {
      if (label[r] < 0) continue;
      total[0] += loss[r];
      total[1] += hit[r];
      total[2] += 1.0;
    }
  }

  void cross_entropy_backward(Tensor& dlogits, const Tensor& logits, const Tensor& labels,
                              const Tensor& logsumexp, float scale,
                              const CrossEntropyOptions& options, int64_t first_row) override {
    const int64_t classes =
        check_rows("cross_entropy_backward", logits, labels, logsumexp, first_row);
    require_alike("cross_entropy_backward", dlogits, logits);
    const Clip clip(options.clip);
    const Target target(options, classes);
    const float z = options.z;
    const auto* lse = logsumexp.data<float>() + first_row;
    const auto* label = labels.data<int32_t>() + first_row;
    with_element_type(logits.dtype(), "cross_entropy_backward", [&]<class T>(T) {
      for_rows(context_, logits, [=, to = dlogits.data<T>(), from = logits.data<T>()](int64_t r) {
        T* dx = to + r * classes;
        if (label[r] < 0) {
          std::fill(dx, dx + classes, static_cast<T>(0.0F));
        } else {
          const float pull = 1.0F + 2.0F * z * lse[r];
          cross_entropy_backward_row(dx, from + r * classes, classes, label[r], lse[r], scale, pull,
                                     clip, target);
        }
      });
    });
  }

 private:
  // Returns the number of classes. Refuses sizes and labels that do not fit.
  static int64_t check_rows(const char* op, const Tensor& logits, const Tensor& labels,
                            const Tensor& logsumexp, int64_t first_row) {
    require_piece(op, logits, labels, first_row);
    require_elements(op, logsumexp, labels.elements());
    const int64_t classes = logits.shape().back();
    check_ids(labels, first_row, first_row + logits.shape().rows(),
              std::numeric_limits<int32_t>::min(), classes, "label", "classes");
    return classes;
  }
};

}  // namespace

std::unique_ptr<TokenOps> cpu_token_ops(CpuContext& context) {
  return std::make_unique<CpuToken>(context);
}

}  // namespace penstock
