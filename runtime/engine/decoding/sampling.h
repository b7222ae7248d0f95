// runtime/engine/decoding/sampling.h -- sampling: which word is taken from a row of logits. Pure
// host code: the caller draws the random number.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace penstock {

struct SamplingOptions {
  double temperature = 1.0;  // logits are divided by it; 0: the largest logit, always
  int64_t top_k = 0;         // only the k most probable words; 0: all
  double top_p = 1.0;        // then only the most probable that make up this share, at least one
  double min_p = 0.0;        // then only those at least this share as probable as the most probable
  // Penalty for words that the text has already, applied before all of the above: positive logits
  // are divided by it, negative ones multiplied (Keskar et al. 2019); 1: no change.
  double repetition_penalty = 1.0;
};
// Throws Error(Input) naming the option that is out of its range.
void check(const SamplingOptions& options);

// The logits after the repetition penalty on `words`, once for a word that is there several times;
// ids beyond the logits are ignored.
[[nodiscard]] std::vector<float> penalised(std::span<const float> logits,
                                           std::span<const int32_t> words, double penalty);

// The `n` words with the largest logits (all, if there are fewer), largest first, the smaller of
// equals first.
[[nodiscard]] std::vector<int32_t> most_probable(std::span<const float> logits, size_t n);

// The word that `draw`, in [0, 1), falls on when the words left by `options` lie end to end in
// the order of most_probable(), each as long as its probability. options.repetition_penalty is not
// applied here: the caller gives penalised() logits.
[[nodiscard]] int32_t sample(std::span<const float> logits, const SamplingOptions& options,
                             double draw);

}  // namespace penstock
