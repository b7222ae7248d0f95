// runtime/engine/decoding/beam_search.h -- BeamSearch: the beam search for one sentence of a
// translation (greedy decoding with one beam).
//
// BeamSearch has no network. The caller alternates two calls until rows() is empty: it takes
// rows(), the unfinished sentences to continue, lets the network find the most probable next words
// of each, and gives these to extend(), which keeps the `beams` best continuations. best() is the
// result. Words are token ids, log probabilities are natural logarithms. Translator is the caller
// (translator.h). Pure host code.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace penstock {

// A possible next word: its id and the natural logarithm of its probability.
struct NextWord {
  int32_t word = 0;
  double log_probability = 0.0;
};
// The `n` most probable words of a row of logits (one for each word of the vocabulary), best first,
// with the log of their softmax. Of words with equal logits the one with the smaller id is first.
[[nodiscard]] std::vector<NextWord> best_candidates(std::span<const float> logits, int n);

struct SearchOptions {
  int beams = 1;  // rows that are kept; 1: greedy decoding
  // Alpha of Wu et al. 2016, eq. 14, in the score of a sentence; 0: none.
  double length_penalty = 0.6;
  int64_t longest = 0;         // the most words of a sentence, `end` included, `begin` not
  int32_t begin = 0, end = 0;  // the token ids that begin and end a sentence
};

class BeamSearch {
 public:
  explicit BeamSearch(const SearchOptions& options);

  // The unfinished sentences to find next words for, at most `beams`: each is `begin` and its words
  // so far. At first there is one, `begin` alone. Empty: the search has ended.
  [[nodiscard]] std::span<const std::vector<int32_t>> rows() const { return rows_; }
  // How many next words extend() wants for each row. Twice the beams, so that enough are left when
  // some of them end their sentence.
  [[nodiscard]] int candidates() const { return 2 * options_.beams; }
  // Makes the next rows() of the best continuations. candidates[r] are the most probable next words
  // of rows()[r], best first. A continuation by `end` that is among the best finishes its sentence.
  void extend(std::span<const std::vector<NextWord>> candidates);
  // The best finished sentence so far, without `begin` and `end`; while none is finished, the best
  // of rows(). Sentences are compared by their normalised scores (best_score()).
  [[nodiscard]] std::vector<int32_t> best() const;
  // The log probability of best(), divided by the length penalty ((5 + words) / 6) ^
  // length_penalty; 0 before the first extend().
  [[nodiscard]] double best_score() const;

 private:
  // `score` (a sum of log probabilities) over the length penalty for so many words.
  [[nodiscard]] double normalised(double score, int64_t words) const;
  // Counts a finished sentence, `row` without `end`, and keeps it if it is the best so far.
  void finish(const std::vector<int32_t>& row, double score, int64_t words);

  SearchOptions options_;
  std::vector<std::vector<int32_t>> rows_;
  std::vector<double> scores_;  // by row: the sum of log probabilities
  int finished_ = 0;            // how many sentences are finished
  std::vector<int32_t> best_;   // the best finished sentence
  double best_score_ = 0.0;     // its normalised score
};

}  // namespace penstock
