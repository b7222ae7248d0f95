// runtime/engine/decoding/generator.h -- Generator: writes texts that go on from prompts, both as
// token ids, with a pipeline of any number of stages. docs/generation.md describes it.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "runtime/engine/decoding/rounds.h"
#include "runtime/engine/decoding/sampling.h"

namespace penstock {

struct GenerationOptions {
  int64_t tokens = 200;            // the most that are generated for each sample
  int64_t samples = 1;             // texts of each prompt
  std::vector<int32_t> ends = {};  // a text ends with any of these tokens
  SamplingOptions sampling;
};
// Throws Error(Input) naming the option that is out of its range.
void check(const GenerationOptions& options);

class Generator {
 public:
  using Tokens = std::vector<int32_t>;
  // Called on rank 0, in the order of the samples, at least once for each. `tokens` are all that
  // the sample has so far, the prompt included; `done` is true with the last of them.
  using Show = std::function<void(size_t sample, std::span<const int32_t> tokens, bool done)>;
  // Says on rank 0 whether a text ends with these tokens, the last `added` of which were generated.
  using IsOver = std::function<bool(std::span<const int32_t> tokens, size_t added)>;

  // `config` is what `rounds` was made from; `rounds` must outlive this. Only ids below
  // `vocabulary` are chosen. Throws as check() does.
  Generator(const Config& config, const GenerationOptions& options, int64_t vocabulary,
            Rounds& rounds);

  // Collective; the prompts of rank 0 count, none of them empty. Sample p * samples + i is the i-th
  // of prompt p; its n-th token is drawn by Philox(run.seed, number of the sample, n), so it is the
  // same on any number of stages and whatever else is generated beside it. The network and the
  // repetition penalty see the last model.context tokens. A sample that has ended gives its place
  // to the next. `is_over` may be empty. Returns, on rank 0, how many tokens were added in all.
  int64_t generate(const std::vector<Tokens>& prompts, const Show& show,
                   const IsOver& is_over = {});

 private:
  [[nodiscard]] double draw(size_t sample, size_t position) const;
  // Whether these tokens, of which the last `added` were generated, are a whole text.
  [[nodiscard]] bool has_ended(const Tokens& tokens, size_t added, const IsOver& is_over) const;
  [[nodiscard]] std::span<const int32_t> window(const Tokens& tokens) const;

  GenerationOptions options_;
  Rounds& rounds_;
  int64_t context_;
  uint64_t seed_;
  Rounds::Choose choose_;
};

}  // namespace penstock
