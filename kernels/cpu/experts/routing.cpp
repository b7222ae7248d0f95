#include "kernels/cpu/experts/routing.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/cpu/loops/loops.h"
#include "kernels/cpu/loops/simd_math.h"
#include "kernels/ops/expert_sizes.h"

namespace penstock {
namespace {

// Writes the numbers of the `count` largest values, ascending; of equals the lower number is taken.
void choose(int32_t* chosen, int64_t count, const float* values, int64_t experts) {
  for (int64_t j = 0; j < count; ++j) {
    const auto taken = [&](int64_t e) { return std::find(chosen, chosen + j, e) != chosen + j; };
    int64_t best = 0;
    while (taken(best)) ++best;
    for (int64_t e = best + 1; e < experts; ++e) {
      if (values[e] > values[best] && !taken(e)) best = e;
    }
    chosen[j] = static_cast<int32_t>(best);
  }
  std::sort(chosen, chosen + count);
}

// The softmax of a row: p_e = exp(x_e - largest) / sum.
struct Softmax {
  float largest, sum;
  Softmax(const float* x, int64_t experts)
      : largest(simd_max(experts, [x](int64_t e) { return x[e]; })),
        sum(simd_sum(experts, [x, this](int64_t e) { return simd_exp(x[e] - largest); })) {}
  [[nodiscard]] float operator()(float x) const { return simd_exp(x - largest) / sum; }
};

// The sum of the two largest values.
float two_largest(const float* values, int64_t count) {
  float first = -std::numeric_limits<float>::infinity();
  float second = first;
  for (int64_t i = 0; i < count; ++i) {
    second = std::max(second, std::min(first, values[i]));
    first = std::max(first, values[i]);
  }
  return first + second;
}

// Makes the values of all experts outside the best groups the lowest of all.
void keep_best_groups(float* values, int64_t experts, const Router& router) {
  const int64_t size = experts / router.groups;
  float sums[kMostExpertGroups];
  int32_t kept[kMostExpertGroups];
  for (int64_t g = 0; g < router.groups; ++g) sums[g] = two_largest(values + g * size, size);
  choose(kept, router.chosen_groups, sums, router.groups);
  for (int64_t g = 0; g < router.groups; ++g) {
    if (std::find(kept, kept + router.chosen_groups, g) != kept + router.chosen_groups) continue;
    std::fill_n(values + g * size, size, -std::numeric_limits<float>::infinity());
  }
}

// Writes what the experts of a row are chosen by, where that is not the order of the logits.
void values_of(float* values, const float* logits, const float* correction, int64_t experts,
               const Router& router) {
  if (router.score == RouterScore::Softmax) {
    const Softmax softmax(logits, experts);
    for (int64_t e = 0; e < experts; ++e) values[e] = softmax(logits[e]);
  } else {
    for (int64_t e = 0; e < experts; ++e) values[e] = simd_sigmoid(logits[e]);
  }
  for (int64_t e = 0; correction != nullptr && e < experts; ++e) values[e] += correction[e];
  if (router.chosen_groups < router.groups) keep_best_groups(values, experts, router);
}

void weigh(float* weights, const int32_t* chosen, int64_t count, const float* logits,
           int64_t experts, const Router& router) {
  if (router.score == RouterScore::Softmax) {
    const Softmax softmax(logits, experts);
    for (int64_t j = 0; j < count; ++j) weights[j] = softmax(logits[chosen[j]]);
  } else {
    for (int64_t j = 0; j < count; ++j) weights[j] = simd_sigmoid(logits[chosen[j]]);
  }
  float sum = 0.0F;
  for (int64_t j = 0; j < count; ++j) sum += weights[j];
  // The sigmoids of very low logits may all be 0.
  const bool divides = router.normalised && sum != 0.0F;
  for (int64_t j = 0; j < count; ++j) {
    weights[j] = (divides ? weights[j] / sum : weights[j]) * router.scale;
  }
}

// Sorts the slots by expert, which keeps the order of those of one expert.
void sort_slots(const Routing& routing, const RoutingSizes& sizes) {
  const auto* chosen = routing.chosen.data<int32_t>();
  auto* order = routing.order.data<int32_t>();
  auto* places = routing.places.data<int32_t>();
  auto* offsets = routing.offsets.data<int32_t>();
  std::fill(offsets, offsets + sizes.experts + 1, 0);
  for (int64_t slot = 0; slot < sizes.slots(); ++slot) ++offsets[chosen[slot] + 1];
  for (int64_t e = 0; e < sizes.experts; ++e) offsets[e + 1] += offsets[e];
  // offsets[e] counts on to the end of expert e, and is then put back.
  for (int64_t slot = 0; slot < sizes.slots(); ++slot) {
    const int32_t place = offsets[chosen[slot]]++;
    order[place] = static_cast<int32_t>(slot);
    places[slot] = place;
  }
  std::copy_backward(offsets, offsets + sizes.experts, offsets + sizes.experts + 1);
  offsets[0] = 0;
}

// The gradient of the logits by way of the weights.
void differentiate_weights(float* dlogits, const float* dweights, const float* weights,
                           const int32_t* chosen, int64_t count, const float* logits,
                           int64_t experts, const Router& router) {
  float mean = 0.0F;
  const float scale = router.normalised ? router.scale : 1.0F;  // is in the weights, too
  for (int64_t j = 0; j < count; ++j) mean += dweights[j] * (weights[j] / scale);
  if (router.score == RouterScore::Softmax && !router.normalised) {
    const Softmax softmax(logits, experts);
    for (int64_t e = 0; e < experts; ++e) dlogits[e] = -softmax(logits[e]) * mean;
    for (int64_t j = 0; j < count; ++j) dlogits[chosen[j]] += weights[j] * dweights[j];
    return;
  }
  // A normalised softmax is the softmax of the chosen logits alone; a weight of normalised sigmoids
  // is s / sum, whose derivative has the same form with s' = s (1 - s) for s.
  std::fill(dlogits, dlogits + experts, 0.0F);
  for (int64_t j = 0; j < count; ++j) {
    const float through = router.normalised ? dweights[j] - mean : dweights[j];
    const float slope =
        router.score == RouterScore::Softmax ? 1.0F : 1.0F - simd_sigmoid(logits[chosen[j]]);
    dlogits[chosen[j]] = weights[j] * through * slope;
  }
}

// Adds the gradients of the auxiliary losses. `offsets` say how many rows chose each expert.
void differentiate_losses(float* dlogits, const float* logits, const int32_t* offsets,
                          const RoutingSizes& sizes, const Router& router) {
  const Softmax softmax(logits, sizes.experts);
  const auto count = [offsets](int64_t e) {
    return static_cast<float>(offsets[e + 1] - offsets[e]);
  };
  const float mean =
      simd_sum(sizes.experts, [&](int64_t e) { return count(e) * softmax(logits[e]); });
  const float balance =
      router.balance * static_cast<float>(sizes.experts) / static_cast<float>(sizes.rows);
  const float z = router.z * 2.0F * (softmax.largest + std::log(softmax.sum));
  for (int64_t e = 0; e < sizes.experts; ++e) {
    dlogits[e] += softmax(logits[e]) * (balance * (count(e) - mean) + z);
  }
}

}  // namespace

void route(const CpuContext& context, const Routing& routing, Tensor& weights, const Tensor& logits,
           const Tensor& correction, const Router& router) {
  const RoutingSizes sizes = router_sizes("route", routing, logits, weights, router);
  if (correction) require_elements("route", correction, sizes.experts);
  const int64_t work = sizes.experts * (sizes.chosen + 4);
  const bool by_logits = chosen_by_logits(correction, router);
  // Each block of rows has room for what one of its rows is chosen by.
  const int64_t blocks = std::clamp<int64_t>(sizes.rows, 1, context.threads);
  const Tensor room = by_logits ? Tensor() : scratch(context, blocks * sizes.experts, DType::F32);
  const auto route_row = [&](int64_t row, float* values) {
    const float* x = logits.data<float>() + row * sizes.experts;
    int32_t* chosen = routing.chosen.data<int32_t>() + row * sizes.chosen;
    if (values != nullptr) {
      values_of(values, x, correction ? correction.data<float>() : nullptr, sizes.experts, router);
    }
    choose(chosen, sizes.chosen, values != nullptr ? values : x, sizes.experts);
    weigh(weights.data<float>() + row * sizes.chosen, chosen, sizes.chosen, x, sizes.experts,
          router);
  };
  for_rows(context, blocks, work * sizes.rows / blocks, [&](int64_t block) {
    float* values = by_logits ? nullptr : room.data<float>() + block * sizes.experts;
    const int64_t end = sizes.rows * (block + 1) / blocks;
    for (int64_t row = sizes.rows * block / blocks; row < end; ++row) route_row(row, values);
  });
  sort_slots(routing, sizes);
}

void route_backward(const CpuContext& context, Tensor& dlogits, const Tensor& dweights,
                    const Tensor& weights, const Tensor& logits, const Routing& routing,
                    const Router& router) {
  const RoutingSizes sizes = router_sizes("route_backward", routing, dlogits, dweights, router);
  const bool losses = router.balance != 0.0F || router.z != 0.0F;
  for_rows(context, sizes.rows, sizes.experts * 8, [&](int64_t row) {
    const int64_t slot = row * sizes.chosen;
    const float* x = logits.data<float>() + row * sizes.experts;
    float* dx = dlogits.data<float>() + row * sizes.experts;
    differentiate_weights(dx, dweights.data<float>() + slot, weights.data<float>() + slot,
                          routing.chosen.data<int32_t>() + slot, sizes.chosen, x, sizes.experts,
                          router);
    if (losses) differentiate_losses(dx, x, routing.offsets.data<int32_t>(), sizes, router);
  });
}

}  // namespace penstock
