// runtime/engine/decoding/generator.h -- Generator: texts that go on from prompts, as rows of token
// ids, through the pipeline on any number of stages. See docs/generation.md.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "runtime/engine/decoding/rounds.h"
#include "runtime/engine/decoding/sampling.h"

namespace penstock {

struct GenerationOptions {
  int64_t tokens = 200;            // how many more, of each sample
  int64_t samples = 1;             // of each prompt
  std::vector<int32_t> ends = {};  // a text ends with any of these tokens
  SamplingOptions sampling;
};
// Throws Error(Input) naming the option that is out of its range.
void check(const GenerationOptions& options);

class Generator {
 public:
  using Tokens = std::vector<int32_t>;
  // On rank 0, in the order of the samples, at least once each: all that a sample has so far, the
  // prompt included; `done` with the last.
  using Show = std::function<void(size_t sample, std::span<const int32_t> tokens, bool done)>;
  // On rank 0: whether a text is at its end with these tokens, of which the last `added` are not of
  // the prompt.
  using IsOver = std::function<bool(std::span<const int32_t> tokens, size_t added)>;

  // As Rounds. Only ids below `vocabulary` are chosen.
  Generator(const Config& config, const GenerationOptions& options, int64_t vocabulary,
            Rounds& rounds);

  // Collective; the prompts of rank 0 count, none of them empty. Sample number p * samples + i is
  // the i-th of prompt p, and its n-th token is drawn by Philox(run.seed, number, n): the same on
  // any number of stages, and whatever else is generated beside it. The network sees the last
  // model.context tokens, and so does the repetition penalty. A text that has ended gives its place
  // to the next. `is_over` may be empty. Returns the number of tokens that were added (on rank 0).
  int64_t generate(const std::vector<Tokens>& prompts, const Show& show,
                   const IsOver& is_over = {});

 private:
  [[nodiscard]] double draw(size_t sample, size_t position) const;
  // Whether nothing follows behind these tokens, of which `added` are no prompt.
  [[nodiscard]] bool has_ended(const Tokens& tokens, size_t added, const IsOver& is_over) const;
  [[nodiscard]] std::span<const int32_t> window(const Tokens& tokens) const;

  GenerationOptions options_;
  Rounds& rounds_;
  int64_t context_;
  uint64_t seed_;
  Rounds::Choose choose_;
};

}  // namespace penstock
