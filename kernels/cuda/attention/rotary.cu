// kernels/cuda/attention/rotary.cu -- rotary positions (Su et al. 2021): a thread a pair of
// elements. Bound by memory; neighbouring threads read neighbouring elements of both halves of a
// head, or neighbouring pairs.
#include "kernels/checks.h"
#include "kernels/cuda/attention/rotary.h"
#include "kernels/cuda/loops/vector.h"
#include "kernels/cuda/queue/launch.h"

namespace penstock {
namespace {

constexpr int kRotaryThreads = 256;

// This is passed to the kernel by value. It has no padding, because the queue compares the bytes of
// arguments.
struct Turning {
  int64_t pairs;  // the number of all pairs
  int64_t time, heads, half;
  int64_t step, gap;  // the elements of pair c of a head are numbers c * step and c * step + gap
  const float* table;
  const int32_t* places;  // the place of each position; if null, its number in the sample
  double sign;            // 1 to turn, -1 to turn back
};

template <class T>
__global__ void __launch_bounds__(kRotaryThreads) rotary_kernel(T* y, const T* x, Turning how) {
  const int64_t pair = int64_t{blockIdx.x} * kRotaryThreads + static_cast<int64_t>(threadIdx.x);
  if (pair >= how.pairs) return;
  const int64_t c = pair % how.half;
  const int64_t head = pair / how.half;  // counted over the heads of all positions
  const int64_t position = head / how.heads;
  const int64_t place = how.places == nullptr ? position % how.time : how.places[position];
  const float* waves = how.table + place * 2 * how.half;
  const float cosine = waves[c];
  const float sine = static_cast<float>(how.sign) * waves[c + how.half];
  const int64_t at = head * 2 * how.half + c * how.step;
  const float a = widened(x[at]);
  const float b = widened(x[at + how.gap]);
  narrow_to(y + at, a * cosine - b * sine);
  narrow_to(y + at + how.gap, b * cosine + a * sine);
}

}  // namespace

void rotary(CudaContext& context, Tensor& y, const Tensor& x, const Tensor& table,
            const Tensor* places, const RotarySizes& sizes, RotaryPairs pairs, bool back) {
  const int64_t count = x.elements() / 2;
  if (count == 0) return;
  const bool neighbours = pairs == RotaryPairs::Neighbours;
  const Turning how{count,
                    sizes.time,
                    sizes.heads,
                    sizes.depth / 2,
                    neighbours ? 2 : 1,
                    neighbours ? 1 : sizes.depth / 2,
                    table.data<float>(),
                    places == nullptr ? nullptr : places->data<int32_t>(),
                    back ? -1.0 : 1.0};
  with_element_type(x.dtype(), "rotary", [&]<class T>(T) {
    const LaunchShape shape{.grid = {blocks_for(count, kRotaryThreads)}, .block = {kRotaryThreads}};
    launch(context.queue, &rotary_kernel<T>, shape, y.data<T>(), static_cast<const T*>(x.data<T>()),
           how);
  });
}

}  // namespace penstock
