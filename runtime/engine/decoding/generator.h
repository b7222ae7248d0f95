// runtime/engine/decoding/generator.h -- Generator: continues prompts by sampling from a trained
// language model.
//
// Prompts and results are lists of token ids. The model may be spread over a pipeline of any number
// of stages and replicas: Rounds (rounds.h) runs it, and Generator decides what is run and draws
// the words. Many texts grow at the same time; when one ends, its place goes to the next. `penstock
// generate` is the user; docs/generation.md describes the whole.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "runtime/engine/decoding/rounds.h"
#include "runtime/engine/decoding/sampling.h"

namespace penstock {

struct GenerationOptions {
  int64_t tokens = 200;            // the most tokens that are added to a prompt, for each sample
  int64_t samples = 1;             // how many texts (samples) are generated for each prompt
  std::vector<int32_t> ends = {};  // a text ends with any of these token ids
  SamplingOptions sampling;
};
// Throws Error(Input) naming the option that is out of its range.
void check(const GenerationOptions& options);

class Generator {
 public:
  using Tokens = std::vector<int32_t>;
  // Called on rank 0 with the texts as they grow, in the order of the samples, at least once for
  // each sample. `sample`: its number, prompt * GenerationOptions::samples + i. `tokens`: all that
  // the sample has so far, the prompt included. `done`: true in the last call for this sample.
  using Show = std::function<void(size_t sample, std::span<const int32_t> tokens, bool done)>;
  // Called on rank 0: whether a text ends with these tokens (prompt included), of which the last
  // `added` were generated. For stop strings, which token ids alone do not tell.
  using IsOver = std::function<bool(std::span<const int32_t> tokens, size_t added)>;

  // `config` is what `rounds` was made from; `rounds` must outlive this. Only token ids below
  // `vocabulary`, the tokenizer's number of tokens, are chosen: a network may have more logits than
  // that. Throws Error(Input) as check() does.
  Generator(const Config& config, const GenerationOptions& options, int64_t vocabulary,
            Rounds& rounds);

  // Generates all samples of all prompts. Collective over all ranks; the prompts of rank 0 count,
  // none of them empty, and `show` and `is_over` (may be empty) are called there. Returns, on rank
  // 0, how many tokens were added in all. Throws Error(Input) when a logit is NaN or plus infinity.
  //
  // Token n of a sample, counted with the prompt, is drawn with a random number that depends on
  // nothing but (run.seed, the number of the sample, n), so the text is the same on any number of
  // stages and whatever else is generated beside it. The network and the repetition penalty see the
  // last model.context tokens.
  int64_t generate(const std::vector<Tokens>& prompts, const Show& show,
                   const IsOver& is_over = {});

 private:
  // The random number in [0, 1) for the token at index `position` of a sample.
  [[nodiscard]] double draw(size_t sample, size_t position) const;
  // Whether these tokens, of which the last `added` were generated, are a complete text.
  [[nodiscard]] bool has_ended(const Tokens& tokens, size_t added, const IsOver& is_over) const;
  // The last model.context tokens, which the network sees.
  [[nodiscard]] std::span<const int32_t> window(const Tokens& tokens) const;

  GenerationOptions options_;
  Rounds& rounds_;
  int64_t context_;
  uint64_t seed_;
  Rounds::Choose choose_;
};

}  // namespace penstock
