// runtime/engine/decoding/sampling.h -- sampling: chooses the next word of a text from the
// network's logits.
//
// A row of logits has one number for each word of the vocabulary; a word is its index. The usual
// rules (temperature, top-k, top-p, min-p, repetition penalty) narrow the choice, and a random
// number that the caller draws picks one of what is left. Generator uses these functions
// (generator.h). Pure host code.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace penstock {

struct SamplingOptions {
  double temperature = 1.0;  // logits are divided by it; 0: always the word with the largest logit
  int64_t top_k = 0;         // keep only the k most probable words; 0: all
  // The most probable of these that together reach this share are kept; one at least.
  double top_p = 1.0;
  double min_p = 0.0;  // of these keep those at least this share as probable as the most probable
  // Makes words that the text has already less probable, before all of the above: positive logits
  // are divided by it, negative ones multiplied (Keskar et al. 2019); 1: no change.
  double repetition_penalty = 1.0;
};
// Throws Error(Input) naming the option that is out of its range.
void check(const SamplingOptions& options);

// The logits after the repetition penalty on `words`, the text so far. A word that is there several
// times is penalised once; ids beyond the logits are ignored.
[[nodiscard]] std::vector<float> penalised(std::span<const float> logits,
                                           std::span<const int32_t> words, double penalty);

// The `n` words with the largest logits (all words, if there are fewer), largest first; of equal
// logits the smaller word is first.
[[nodiscard]] std::vector<int32_t> most_probable(std::span<const float> logits, size_t n);

// Draws a word. The words left by `options` lie end to end on [0, 1), in the order of
// most_probable(), each as long as its probability; the result is the word at `draw`, in [0, 1).
// Does not apply options.repetition_penalty: the caller passes penalised() logits.
[[nodiscard]] int32_t sample(std::span<const float> logits, const SamplingOptions& options,
                             double draw);

}  // namespace penstock
