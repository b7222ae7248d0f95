#include "runtime/engine/decoding/sampling.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "kernels/error.h"

namespace penstock {
namespace {

// Returns how many of the leading weights it takes to make up at least `share` of the sum of all
// weights.
size_t making_up(std::span<const double> weights, double share) {
  const double wanted = share * std::accumulate(weights.begin(), weights.end(), 0.0);
  double sum = 0.0;
  for (size_t i = 0; i < weights.size(); ++i) {
    sum += weights[i];
    if (sum >= wanted) return i + 1;
  }
  return weights.size();
}

// Returns how many of the leading weights are at least `share` of the largest. Weights are in
// descending order, so weights[0] is the largest.
size_t as_probable(std::span<const double> weights, double share) {
  const auto less = [&](double weight) { return weight < share * weights[0]; };
  return static_cast<size_t>(std::ranges::find_if(weights, less) - weights.begin());
}

}  // namespace

void check(const SamplingOptions& options) {
  if (!(options.temperature >= 0.0 && std::isfinite(options.temperature))) {
    fail_input("--temperature must be 0 (the most probable word, always) or above");
  }
  if (options.top_k < 0) fail_input("--top-k must be 0 (all words) or above");
  if (!(options.top_p > 0.0 && options.top_p <= 1.0)) {
    fail_input("--top-p must be above 0, and at most 1 (all words)");
  }
  if (!(options.min_p >= 0.0 && options.min_p <= 1.0)) {
    fail_input("--min-p must be 0 (all words) to 1 (the most probable)");
  }
  if (!(options.repetition_penalty > 0.0 && std::isfinite(options.repetition_penalty))) {
    fail_input("--repetition-penalty must be above 0 (1: none)");
  }
}

std::vector<float> penalised(std::span<const float> logits, std::span<const int32_t> words,
                             double penalty) {
  std::vector<float> changed(logits.begin(), logits.end());
  const auto by = static_cast<float>(penalty);
  for (const int32_t word : words) {
    if (word < 0 || word >= std::ssize(logits)) continue;
    // The penalty applies to the original logit, so a word that occurs twice is penalised only
    // once.
    const float logit = logits[static_cast<size_t>(word)];
    changed[static_cast<size_t>(word)] = logit < 0 ? logit * by : logit / by;
  }
  return changed;
}

std::vector<int32_t> most_probable(std::span<const float> logits, size_t n) {
  std::vector<int32_t> order(logits.size());
  std::iota(order.begin(), order.end(), 0);
  const auto count = std::min(logits.size(), n);
  std::partial_sort(order.begin(), order.begin() + static_cast<ptrdiff_t>(count), order.end(),
                    [logits](int32_t a, int32_t b) {
                      const float x = logits[static_cast<size_t>(a)];
                      const float y = logits[static_cast<size_t>(b)];
                      return x > y || (x == y && a < b);
                    });
  order.resize(count);
  return order;
}

int32_t sample(std::span<const float> logits, const SamplingOptions& options, double draw) {
  if (options.temperature == 0.0) {
    return static_cast<int32_t>(std::ranges::max_element(logits) - logits.begin());
  }
  const std::vector<int32_t> words =
      most_probable(logits, options.top_k > 0 ? static_cast<size_t>(options.top_k) : logits.size());
  const double largest = double{logits[static_cast<size_t>(words[0])]};
  std::vector<double> weights;
  weights.reserve(words.size());
  for (const int32_t word : words) {
    weights.push_back(
        std::exp((double{logits[static_cast<size_t>(word)]} - largest) / options.temperature));
  }
  if (options.top_p < 1.0) weights.resize(making_up(weights, options.top_p));
  weights.resize(as_probable(weights, options.min_p));
  const double point = draw * std::accumulate(weights.begin(), weights.end(), 0.0);
  double sum = 0.0;
  for (size_t i = 0; i + 1 < weights.size(); ++i) {
    sum += weights[i];
    if (point < sum) return words[i];
  }
  return words[weights.size() - 1];
}

}  // namespace penstock
