// runtime/engine/decoding/translator.h -- Translator: translates sentences with a trained network,
// by beam search, many at a time.
//
// In go sentences as text, out come their translations as text; word pieces and token ids are
// inside. The network may be cut into a pipeline of any number of stages and replicas (rounds.h
// runs it). `penstock translate` uses it, and `penstock eval` for BLEU.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "runtime/data/tokenizer/pieces.h"
#include "runtime/engine/decoding/rounds.h"

namespace penstock {

struct TranslationOptions {
  std::string target = {};  // the language to translate into, "de"; empty: the only one there is
  int beams = 1;            // the beam size; 1: greedy decoding
  double length_penalty = 0.6;  // SearchOptions::length_penalty (beam_search.h)
};

class Translator {
 public:
  // `config` is what `rounds` was made from; config.data names the vocabulary of word pieces.
  // `rounds` must outlive this. Throws Error(Input) when the target language is unknown, or is not
  // given although there are several, and when options.beams is not in 1 ..
  // Rounds::rows_of_replica().
  Translator(const Config& config, const TranslationOptions& options, Rounds& rounds);

  using Show = std::function<void(const std::string& translation)>;
  // Translates. Collective over all ranks; the sentences of rank 0 count, and the translations are
  // returned there, in the order of the sentences (elsewhere nothing). A blank sentence has an
  // empty translation. A sentence too long for the network is cut at its end, and counts in cut().
  // `show` (may be empty) is given each translation on rank 0, in order, as soon as it and all
  // before it are done. Throws Error(Input) when a logit is NaN or plus infinity.
  [[nodiscard]] std::vector<std::string> translate(const std::vector<std::string>& sentences,
                                                   const Show& show = {});
  // The scores of the last translate(), by sentence, on rank 0: BeamSearch::best_score(); 0 for
  // blank sentences.
  [[nodiscard]] const std::vector<double>& scores() const { return scores_; }
  // How many sentences were cut since this was made, in all calls of translate().
  [[nodiscard]] int64_t cut() const { return cut_; }

 private:
  // The ids of a sentence as the network reads it: language tag, word pieces, end.
  [[nodiscard]] std::vector<int32_t> source_of(const std::string& sentence);

  TranslationOptions options_;
  Rounds& rounds_;
  Pieces pieces_;
  int64_t context_;   // model.context
  int32_t tag_ = -1;  // the id of the target language's tag; -1: the vocabulary has none
  std::vector<double> scores_;
  int64_t cut_ = 0;
};

}  // namespace penstock
