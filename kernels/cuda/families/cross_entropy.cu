// kernels/cuda/families/cross_entropy.cu -- softmax cross-entropy. Bound by memory: the forward
// reads the logits once (the running maximum and sum of Milakov and Gimelshein 2018), the backward
// reads and writes them once.
//
// Rows of any width start anywhere: a vocabulary has 50257 words. A row is cut where the tensor's
// own groups of 16 bytes lie, so which thread sums what depends on shapes alone.
#include <algorithm>

#include "kernels/checks.h"
#include "kernels/cuda/families/token.h"
#include "kernels/cuda/loops/rows.h"
#include "kernels/cuda/report.h"

namespace penstock {
namespace {

constexpr int kWideRowThreads = 256;  // threads of a wide row
constexpr int64_t kWideRow = 2048;

// This is row `row` as its threads see it: single elements up to the tensor's next whole group of
// N, then groups, and single elements again.
template <int N>
struct CutRow {
  int64_t first, width;  // the row's first element in the tensor
  int64_t head, groups;
  __device__ CutRow(int64_t row, int64_t row_width) : first(row * row_width), width(row_width) {
    const int64_t to_group = (N - first % N) % N;
    head = to_group < width ? to_group : width;
    groups = (width - head) / N;
  }
  // Calls single(column) and group(first column) for this thread's share, in ascending order of
  // columns.
  template <int kThreads, class Single, class Group>
  __device__ void each(const Single& single, const Group& group) const {
    const auto thread = static_cast<int64_t>(threadIdx.x);
    if (thread < head) single(thread);
#pragma unroll 2
    for (int64_t i = thread; i < groups; i += kThreads) group(head + i * N);
    const int64_t tail = head + groups * N + thread;
    if (tail < width) single(tail);
  }
};

// Clips a logit to [-limit, limit]. If kOn is false, the logit stays as it is.
template <bool kOn>
struct Clip {
  float limit;
  [[nodiscard]] __device__ float operator()(float x) const {
    if constexpr (!kOn) return x;
    const float below = x > limit ? limit : x;  // NaN stays NaN
    return below < -limit ? -limit : below;
  }
};

// Holds the target probabilities: `other` is that of every class, and `label` is added for the
// label.
struct Target {
  float label, other;
};

// Holds the statistics of some logits of a row.
struct Part {
  float largest;       // the largest logit, before clipping
  int32_t at;          // the first column of the largest
  float exponentials;  // the sum of e^(clipped logit - clipped largest)
  float sum;           // the sum of the clipped logits
};
__device__ inline Part nothing() {
  return {-INFINITY, INT32_MAX, 0.0F, 0.0F};
}

// Returns sum times e^(from - to), or 0 if nothing was summed yet (then `from` is -infinity).
__device__ inline float rescaled(float sum, float from, float to) {
  return sum == 0.0F ? 0.0F : sum * __expf(from - to);
}

template <class C>
__device__ Part merged(const Part& a, const Part& b, const C& clip) {
  Part m = a;
  if (b.largest > a.largest || (b.largest == a.largest && b.at < a.at)) {
    m.largest = b.largest;
    m.at = b.at;
  }
  const float top = clip(m.largest);
  m.exponentials = rescaled(a.exponentials, clip(a.largest), top) +
                   rescaled(b.exponentials, clip(b.largest), top);
  m.sum = a.sum + b.sum;
  return m;
}

// Adds N logits, from `column` on, to the statistics; `with_sum` says whether the sum of the logits
// is wanted, too.
template <int N, class C>
__device__ void add(Part& part, const Floats<N>& x, int64_t column, const C& clip, bool with_sum) {
  float top = part.largest;
  for (int k = 0; k < N; ++k) top = fmaxf(x[k], top);  // fmaxf() drops a NaN
  const float before = clip(part.largest);
  if (top > part.largest || part.at == INT32_MAX) {
    for (int k = N - 1; k >= 0; --k) {
      if (x[k] == top) part.at = static_cast<int32_t>(column) + k;
    }
    part.largest = top;
    part.exponentials = rescaled(part.exponentials, before, clip(top));
  }
  const float shift = clip(top);
  if (shift == -INFINITY) {  // -infinity adds nothing to the sum, and a NaN makes the sum NaN
    for (int k = 0; k < N; ++k) part.exponentials += clip(x[k]) == -INFINITY ? 0.0F : x[k];
  } else {
    for (int k = 0; k < N; ++k) part.exponentials += __expf(clip(x[k]) - shift);
  }
  if (!with_sum) return;
  for (int k = 0; k < N; ++k) part.sum += clip(x[k]);
}

struct RowResult {
  double loss;
  int32_t hit;
  int32_t counted;
};

template <class T, int N, bool kAligned, int kThreads, bool kClips>
__global__ void __launch_bounds__(kThreads == kWarp ? kWarp * kRowsPerBlock : kThreads)
    cross_entropy_forward_kernel(RowResult* results, float* logsumexp, const T* logits,
                                 const int32_t* labels, int64_t rows, int64_t width, Target target,
                                 Clip<kClips> clip, Finding* finding) {
  __shared__ Part parts[kThreads / kWarp];
  const int64_t row = row_of_thread<kThreads>();
  if (row >= rows) return;
  const CutRow<N> cut(row, width);
  const T* x = logits + cut.first;
  Part part = nothing();
  const bool smooths = target.other != 0.0F;
  cut.template each<kThreads>(
      [&](int64_t column) { add<1>(part, load<1>(x + column), column, clip, smooths); },
      [&](int64_t column) { add<N>(part, load<N, kAligned>(x + column), column, clip, smooths); });
  part = row_reduce<kThreads>(part, parts,
                              [&clip](const Part& a, const Part& b) { return merged(a, b, clip); });
  if (threadIdx.x != 0) return;
  const float log_sum = clip(part.largest) + logf(part.exponentials);
  logsumexp[row] = log_sum;
  const int32_t label = labels[row];
  const bool bad = label >= width;
  if (bad) report(finding, Finding::LabelOutsideClasses, label, width);
  RowResult result{0.0, 0, 0};
  if (label >= 0 && !bad) {
    const double wanted = double{target.label} * double{clip(widened(x[label]))};
    // The logits of other classes do not count without smoothing. Their sum can be -infinity, and 0
    // times -infinity is NaN, so it is not multiplied by 0.
    const double others = target.other == 0.0F ? 0.0 : double{target.other} * double{part.sum};
    result.loss = double{log_sum} - wanted - others;
    result.hit = part.at == label ? 1 : 0;
    result.counted = 1;
  }
  results[row] = result;
}

constexpr int kSumThreads = 256;

// One block adds up all rows in a fixed order. Each thread adds every kSumThreads-th row, a tree
// adds the threads of a warp, and then the warps are added in turn. The sum is added to `result` if
// `adds` is true, and else overwrites it.
__global__ void __launch_bounds__(kSumThreads)
    sum_rows_kernel(double* result, const RowResult* results, int64_t rows, bool adds) {
  __shared__ RowResult parts[kSumThreads / kWarp];
  RowResult sum{0.0, 0, 0};
  const auto plus = [](const RowResult& a, const RowResult& b) {
    return RowResult{a.loss + b.loss, a.hit + b.hit, a.counted + b.counted};
  };
#pragma unroll 4
  for (int64_t row = threadIdx.x; row < rows; row += kSumThreads) sum = plus(sum, results[row]);
  sum = row_reduce<kSumThreads>(sum, parts, plus);
  if (threadIdx.x != 0) return;
  result[0] = (adds ? result[0] : 0.0) + sum.loss;
  result[1] = (adds ? result[1] : 0.0) + sum.hit;
  result[2] = (adds ? result[2] : 0.0) + sum.counted;
}

// Computes dx = scale (softmax (1 + 2 z logsumexp) - target), and 0 where a logit was clipped and
// in rows that do not count. dx can be the same tensor as x: an element is read and written by one
// thread only.
template <class T, int N, bool kAligned, int kThreads, bool kClips>
__global__ void __launch_bounds__(kThreads == kWarp ? kWarp * kRowsPerBlock : kThreads)
    cross_entropy_backward_kernel(T* dlogits, const T* logits, const int32_t* labels,
                                  const float* logsumexp, int64_t rows, int64_t width, float scale,
                                  float z, Target target, Clip<kClips> clip, Finding* finding) {
  const int64_t row = row_of_thread<kThreads>();
  if (row >= rows) return;
  const CutRow<N> cut(row, width);
  const T* x = logits + cut.first;
  T* dx = dlogits + cut.first;
  const int32_t label = labels[row];
  const bool bad = label >= width;
  if (bad && threadIdx.x == 0) report(finding, Finding::LabelOutsideClasses, label, width);
  const bool counted = label >= 0 && !bad;
  const float log_sum = logsumexp[row];
  const float pull = 1.0F + 2.0F * z * log_sum;
  const float of_label = target.other + target.label;
  const auto gradient = [&](float logit, bool is_label) {
    const float clipped = clip(logit);
    if (!counted || !(clipped == logit)) return 0.0F;  // 0 for a NaN, too, as on the CPU
    return scale * (__expf(clipped - log_sum) * pull - (is_label ? of_label : target.other));
  };
  cut.template each<kThreads>(
      [&](int64_t column) {
        narrow_to(dx + column, gradient(widened(x[column]), column == label));
      },
      [&](int64_t column) {
        const Floats<N> in = load<N, kAligned>(x + column);
        const int64_t to_label = label - column;
        const int at = to_label >= 0 && to_label < N ? static_cast<int>(to_label) : -1;
        Floats<N> out;
        for (int k = 0; k < N; ++k) out[k] = gradient(in[k], k == at);
        store<N, kAligned>(dx + column, out);
      });
}

// Calls f<N, kAligned, kThreads, kClips>() with the constants that suit the width of rows, their
// address and the clipping.
template <class T, class F>
void by_shape(int64_t width, bool aligned, bool clips, const F& f) {
  constexpr int kWide = kGroup<T>;
  const auto by_clip = [&]<bool kAligned, int kThreads>() {
    clips ? f.template operator()<kWide, kAligned, kThreads, true>()
          : f.template operator()<kWide, kAligned, kThreads, false>();
  };
  if (width >= kWideRow) {
    aligned ? by_clip.template operator()<true, kWideRowThreads>()
            : by_clip.template operator()<false, kWideRowThreads>();
  } else {
    aligned ? by_clip.template operator()<true, kWarp>()
            : by_clip.template operator()<false, kWarp>();
  }
}

Target target_of(const CrossEntropyOptions& options, int64_t classes) {
  return {1.0F - options.label_smoothing, options.label_smoothing / static_cast<float>(classes)};
}

}  // namespace

void cross_entropy_forward(CudaContext& context, Tensor& result, Tensor& logsumexp,
                           const Tensor& logits, const Tensor& labels,
                           const CrossEntropyOptions& options, int64_t first_row) {
  const int64_t rows = logits.shape().rows();
  const int64_t width = logits.shape().back();
  const Target target = target_of(options, width);
  static_assert(sizeof(RowResult) == 2 * sizeof(double));
  const Tensor scratch = context.scratch({2 * rows}, DType::F64);
  auto* results = static_cast<RowResult*>(scratch.raw());
  with_element_type(logits.dtype(), "cross_entropy_forward", [&]<class T>(T) {
    const T* x = logits.data<T>();
    by_shape<T>(width, is_aligned<kGroup<T>>(x), options.clip > 0.0F,
                [&]<int N, bool kAligned, int kThreads, bool kClips>() {
                  launch(context.queue,
                         &cross_entropy_forward_kernel<T, N, kAligned, kThreads, kClips>,
                         row_shape<kThreads>(rows), results, logsumexp.data<float>() + first_row, x,
                         labels.data<int32_t>() + first_row, rows, width, target,
                         Clip<kClips>{options.clip}, context.trouble.on_device());
                });
  });
  launch(context.queue, &sum_rows_kernel, {.block = {kSumThreads}}, result.data<double>(), results,
         rows, first_row > 0);
}

void cross_entropy_backward(CudaContext& context, Tensor& dlogits, const Tensor& logits,
                            const Tensor& labels, const Tensor& logsumexp, float scale,
                            const CrossEntropyOptions& options, int64_t first_row) {
  const int64_t rows = logits.shape().rows();
  const int64_t width = logits.shape().back();
  const Target target = target_of(options, width);
  with_element_type(logits.dtype(), "cross_entropy_backward", [&]<class T>(T) {
    constexpr int kWide = kGroup<T>;
    const T* x = logits.data<T>();
    T* dx = dlogits.data<T>();
    by_shape<T>(width, is_aligned<kWide>(x) && is_aligned<kWide>(dx), options.clip > 0.0F,
                [&]<int N, bool kAligned, int kThreads, bool kClips>() {
                  launch(context.queue,
                         &cross_entropy_backward_kernel<T, N, kAligned, kThreads, kClips>,
                         row_shape<kThreads>(rows), dx, x, labels.data<int32_t>() + first_row,
                         logsumexp.data<float>() + first_row, rows, width, scale, options.z, target,
                         Clip<kClips>{options.clip}, context.trouble.on_device());
                });
  });
}

}  // namespace penstock
