// runtime/engine/decoding/translator.h -- Translator: translates sentences by beam search, many at
// a time, with a pipeline of any number of stages.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "runtime/data/tokenizer/pieces.h"
#include "runtime/engine/decoding/rounds.h"

namespace penstock {

struct TranslationOptions {
  std::string target = {};      // language: "de"; empty: the only one
  int beams = 1;                // 1: greedy
  double length_penalty = 0.6;  // SearchOptions::length_penalty
};

class Translator {
 public:
  // `config` is what `rounds` was made from; `rounds` must outlive this. config.data names the
  // vocabulary.
  // Throws Error(Input) when the target language is unknown or not named.
  Translator(const Config& config, const TranslationOptions& options, Rounds& rounds);

  using Show = std::function<void(const std::string& translation)>;
  // Collective; the sentences of rank 0 count, and their translations are returned there, in order
  // (elsewhere nothing). A blank sentence has an empty translation. Sentences too long for the
  // network lose their end, and cut() counts them. `show` (may be empty) is given each translation
  // on rank 0, in order, as soon as it and all before it are done.
  [[nodiscard]] std::vector<std::string> translate(const std::vector<std::string>& sentences,
                                                   const Show& show = {});
  // The scores of the last translate(), by sentence: BeamSearch::best_score(), 0 for blank ones.
  [[nodiscard]] const std::vector<double>& scores() const { return scores_; }
  // How many sentences have lost their end, in all calls of translate().
  [[nodiscard]] int64_t cut() const { return cut_; }

 private:
  [[nodiscard]] std::vector<int32_t> source_of(const std::string& sentence);

  TranslationOptions options_;
  Rounds& rounds_;
  Pieces pieces_;
  int64_t context_;
  int32_t tag_ = -1;
  std::vector<double> scores_;
  int64_t cut_ = 0;
};

}  // namespace penstock
