// kernels/cuda/families/routing.cu -- the router of a mixture of experts. A thread routes a row; a
// block for each expert finds its slots.
#include "kernels/cuda/families/experts.h"
#include "kernels/cuda/families/sigmoid.h"
#include "kernels/cuda/queue/launch.h"

namespace penstock {
namespace {

constexpr int kRouteThreads = 128;
constexpr int kSortThreads = 256;

struct Sizes {
  int64_t rows, chosen, experts;
};
Sizes sizes_of(const RoutingSizes& sizes) {
  return {sizes.rows, sizes.chosen, sizes.experts};
}

__device__ bool is_among(const int32_t* chosen, int64_t count, int64_t expert) {
  for (int64_t j = 0; j < count; ++j) {
    if (chosen[j] == expert) return true;
  }
  return false;
}

// Writes the numbers of the `count` largest values, ascending; of equals the lower number is taken.
template <class Value>
__device__ void choose(int32_t* chosen, int64_t count, int64_t experts, const Value& value) {
  for (int64_t j = 0; j < count; ++j) {
    int64_t best = 0;
    while (is_among(chosen, j, best)) ++best;
    for (int64_t e = best + 1; e < experts; ++e) {
      if (value(e) > value(best) && !is_among(chosen, j, e)) best = e;
    }
    // The new number goes in among those before it.
    int64_t at = j;
    for (; at > 0 && chosen[at - 1] > best; --at) chosen[at] = chosen[at - 1];
    chosen[at] = static_cast<int32_t>(best);
  }
}

// The softmax of a row: p_e = exp(x_e - largest) / sum.
struct RowSoftmax {
  float largest = -INFINITY;
  float sum = 0.0F;
  __device__ RowSoftmax(const float* x, int64_t experts) {
    for (int64_t e = 0; e < experts; ++e) largest = fmaxf(largest, x[e]);
    for (int64_t e = 0; e < experts; ++e) sum += expf(x[e] - largest);
  }
  __device__ float operator()(float x) const { return expf(x - largest) / sum; }
};

// Chooses by `value`, among the experts of the best groups alone.
template <class Value>
__device__ void choose_in_groups(int32_t* chosen, const Sizes& sizes, const Router& router,
                                 const Value& value) {
  const int64_t size = sizes.experts / router.groups;
  float sums[kMostExpertGroups];
  int32_t kept[kMostExpertGroups];
  for (int64_t g = 0; g < router.groups; ++g) {
    float first = -INFINITY;
    float second = -INFINITY;
    for (int64_t e = g * size; e < (g + 1) * size; ++e) {
      const float x = value(e);
      second = fmaxf(second, fminf(first, x));
      first = fmaxf(first, x);
    }
    sums[g] = first + second;
  }
  choose(kept, router.chosen_groups, router.groups, [&](int64_t g) { return sums[g]; });
  choose(chosen, sizes.chosen, sizes.experts, [&](int64_t e) {
    return is_among(kept, router.chosen_groups, e / size) ? value(e) : -INFINITY;
  });
}

// Chooses by scores, where their order may not be that of the logits.
template <class Score>
__device__ void choose_by_scores(int32_t* chosen, const float* x, const float* correction,
                                 const Sizes& sizes, const Router& router, const Score& score) {
  const auto value = [&](int64_t e) {
    return score(x[e]) + (correction == nullptr ? 0.0F : correction[e]);
  };
  if (router.chosen_groups < router.groups) {
    choose_in_groups(chosen, sizes, router, value);
  } else {
    choose(chosen, sizes.chosen, sizes.experts, value);
  }
}

__global__ void __launch_bounds__(kRouteThreads)
    choose_kernel(int32_t* chosen, float* weights, const float* logits, const float* correction,
                  Sizes sizes, Router router) {
  const int64_t row = int64_t{blockIdx.x} * kRouteThreads + static_cast<int64_t>(threadIdx.x);
  if (row >= sizes.rows) return;
  const float* x = logits + row * sizes.experts;
  int32_t* own = chosen + row * sizes.chosen;
  float* weight = weights + row * sizes.chosen;
  const bool by_logits = correction == nullptr && router.chosen_groups == router.groups;
  if (by_logits) choose(own, sizes.chosen, sizes.experts, [&](int64_t e) { return x[e]; });
  if (router.score == RouterScore::Softmax) {
    const RowSoftmax softmax(x, sizes.experts);
    if (!by_logits) choose_by_scores(own, x, correction, sizes, router, softmax);
    for (int64_t j = 0; j < sizes.chosen; ++j) weight[j] = softmax(x[own[j]]);
  } else {
    const auto score = [](float logit) { return sigmoid(logit); };
    if (!by_logits) choose_by_scores(own, x, correction, sizes, router, score);
    for (int64_t j = 0; j < sizes.chosen; ++j) weight[j] = sigmoid(x[own[j]]);
  }
  float sum = 0.0F;
  for (int64_t j = 0; j < sizes.chosen; ++j) sum += weight[j];
  const bool divides = router.normalised && sum != 0.0F;  // 0: the sigmoids of very low logits
  for (int64_t j = 0; j < sizes.chosen; ++j) {
    weight[j] = (divides ? weight[j] / sum : weight[j]) * router.scale;
  }
}

// Block e finds the slots of expert e, ascending: each thread has a stretch of all slots, in which
// it counts, and after a sum over the threads before it, writes. Slots of lower experts come first.
__global__ void __launch_bounds__(kSortThreads)
    sort_slots_kernel(int32_t* order, int32_t* places, int32_t* offsets, const int32_t* chosen,
                      int64_t slots) {
  __shared__ int32_t own[kSortThreads];
  __shared__ int32_t below[kSortThreads];
  const auto expert = static_cast<int32_t>(blockIdx.x);
  const auto thread = static_cast<int>(threadIdx.x);
  const int64_t first = slots * thread / kSortThreads;
  const int64_t last = slots * (thread + 1) / kSortThreads;
  int32_t here = 0;
  int32_t lower = 0;
  for (int64_t slot = first; slot < last; ++slot) {
    here += chosen[slot] == expert ? 1 : 0;
    lower += chosen[slot] < expert ? 1 : 0;
  }
  own[thread] = here;
  below[thread] = lower;
  __syncthreads();
  int32_t place = 0;
  for (int i = 0; i < kSortThreads; ++i) place += below[i];
  if (thread == 0) {
    offsets[expert] = place;
    if (blockIdx.x + 1 == gridDim.x) offsets[expert + 1] = static_cast<int32_t>(slots);
  }
  for (int i = 0; i < thread; ++i) place += own[i];
  for (int64_t slot = first; slot < last; ++slot) {
    if (chosen[slot] != expert) continue;
    order[place] = static_cast<int32_t>(slot);
    places[slot] = place++;
  }
}

__global__ void __launch_bounds__(kRouteThreads)
    route_backward_kernel(float* dlogits, const float* dweights, const float* weights,
                          const float* logits, const int32_t* chosen, const int32_t* offsets,
                          Sizes sizes, Router router) {
  const int64_t row = int64_t{blockIdx.x} * kRouteThreads + static_cast<int64_t>(threadIdx.x);
  if (row >= sizes.rows) return;
  const float* x = logits + row * sizes.experts;
  float* dx = dlogits + row * sizes.experts;
  const float* weight = weights + row * sizes.chosen;
  const float* dweight = dweights + row * sizes.chosen;
  const int32_t* own = chosen + row * sizes.chosen;
  const RowSoftmax softmax(x, sizes.experts);
  float mean = 0.0F;
  const float scale = router.normalised ? router.scale : 1.0F;  // is in the weights, too
  for (int64_t j = 0; j < sizes.chosen; ++j) mean += dweight[j] * (weight[j] / scale);
  if (router.score == RouterScore::Softmax && !router.normalised) {
    for (int64_t e = 0; e < sizes.experts; ++e) dx[e] = -softmax(x[e]) * mean;
    for (int64_t j = 0; j < sizes.chosen; ++j) dx[own[j]] += weight[j] * dweight[j];
  } else {
    for (int64_t e = 0; e < sizes.experts; ++e) dx[e] = 0.0F;
    for (int64_t j = 0; j < sizes.chosen; ++j) {
      const float through = router.normalised ? dweight[j] - mean : dweight[j];
      const float slope = router.score == RouterScore::Softmax ? 1.0F : 1.0F - sigmoid(x[own[j]]);
      dx[own[j]] = weight[j] * through * slope;
    }
  }
  if (router.balance == 0.0F && router.z == 0.0F) return;
  float routed = 0.0F;
  for (int64_t e = 0; e < sizes.experts; ++e) {
    routed += static_cast<float>(offsets[e + 1] - offsets[e]) * softmax(x[e]);
  }
  const float balance =
      router.balance * static_cast<float>(sizes.experts) / static_cast<float>(sizes.rows);
  const float z = router.z * 2.0F * (softmax.largest + logf(softmax.sum));
  for (int64_t e = 0; e < sizes.experts; ++e) {
    const auto count = static_cast<float>(offsets[e + 1] - offsets[e]);
    dx[e] += softmax(x[e]) * (balance * (count - routed) + z);
  }
}

__global__ void __launch_bounds__(kRouteThreads)
    count_slots_kernel(float* counts, const int32_t* offsets, int64_t experts) {
  const int64_t e = int64_t{blockIdx.x} * kRouteThreads + static_cast<int64_t>(threadIdx.x);
  if (e < experts) counts[e] += static_cast<float>(offsets[e + 1] - offsets[e]);
}

// Counts are whole numbers, so every thread has the same exact sum.
__global__ void __launch_bounds__(kRouteThreads)
    balance_kernel(float* correction, const float* counts, int64_t experts, float rate) {
  const int64_t e = int64_t{blockIdx.x} * kRouteThreads + static_cast<int64_t>(threadIdx.x);
  if (e >= experts) return;
  double sum = 0.0;
  for (int64_t i = 0; i < experts; ++i) sum += static_cast<double>(counts[i]);
  const double missing = sum - static_cast<double>(experts) * static_cast<double>(counts[e]);
  if (missing != 0.0) correction[e] += missing > 0.0 ? rate : -rate;
}

}  // namespace

void route(CudaContext& context, const Routing& routing, Tensor& weights, const Tensor& logits,
           const Tensor& correction, const Router& router, const RoutingSizes& sizes) {
  launch(context.queue, &choose_kernel,
         {.grid = {blocks_for(sizes.rows, kRouteThreads)}, .block = {kRouteThreads}},
         routing.chosen.data<int32_t>(), weights.data<float>(), logits.data<float>(),
         correction ? correction.data<float>() : nullptr, sizes_of(sizes), router);
  launch(context.queue, &sort_slots_kernel,
         {.grid = {static_cast<uint32_t>(sizes.experts)}, .block = {kSortThreads}},
         routing.order.data<int32_t>(), routing.places.data<int32_t>(),
         routing.offsets.data<int32_t>(), routing.chosen.data<int32_t>(), sizes.slots());
}

void route_backward(CudaContext& context, Tensor& dlogits, const Tensor& dweights,
                    const Tensor& weights, const Tensor& logits, const Routing& routing,
                    const Router& router, const RoutingSizes& sizes) {
  launch(context.queue, &route_backward_kernel,
         {.grid = {blocks_for(sizes.rows, kRouteThreads)}, .block = {kRouteThreads}},
         dlogits.data<float>(), dweights.data<float>(), weights.data<float>(), logits.data<float>(),
         routing.chosen.data<int32_t>(), routing.offsets.data<int32_t>(), sizes_of(sizes), router);
}

void count_slots(CudaContext& context, Tensor& counts, const Tensor& offsets) {
  launch(context.queue, &count_slots_kernel,
         {.grid = {blocks_for(counts.elements(), kRouteThreads)}, .block = {kRouteThreads}},
         counts.data<float>(), offsets.data<int32_t>(), counts.elements());
}

void balance(CudaContext& context, Tensor& correction, const Tensor& counts, float rate) {
  launch(context.queue, &balance_kernel,
         {.grid = {blocks_for(counts.elements(), kRouteThreads)}, .block = {kRouteThreads}},
         correction.data<float>(), counts.data<float>(), counts.elements(), rate);
}

}  // namespace penstock
