// runtime/engine/decoding/beam_search.h -- BeamSearch: the search for one sentence's best words, a
// word a round, by probabilities that the caller brings. Pure host code.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace penstock {

// A possible next word.
struct NextWord {
  int32_t word = 0;
  double log_probability = 0.0;
};
// Returns the `n` most probable words of a row of logits, best first; of equals the smaller id is
// first.
[[nodiscard]] std::vector<NextWord> best_candidates(std::span<const float> logits, int n);

struct SearchOptions {
  int beams = 1;                // 1: greedy
  double length_penalty = 0.6;  // alpha of Wu et al. 2016, eq. 14; 0: none
  int64_t longest = 0;          // the most words of a sentence, its end included
  int32_t begin = 0, end = 0;   // the ids that begin and end a sentence
};

class BeamSearch {
 public:
  explicit BeamSearch(const SearchOptions& options);

  // The rows to find next words for, at most `beams`, each `begin` and its words so far. Empty: the
  // search has ended.
  [[nodiscard]] std::span<const std::vector<int32_t>> rows() const { return rows_; }
  // The number of candidates that extend() wants for each row.
  [[nodiscard]] int candidates() const { return 2 * options_.beams; }
  // Makes the next rows(): the best extensions of rows()[r] by candidates[r], which are the next
  // words of that row, best first.
  void extend(std::span<const std::vector<NextWord>> candidates);
  // The best sentence found so far, without begin and end; while none has ended, the best
  // unfinished one.
  [[nodiscard]] std::vector<int32_t> best() const;
  // The log probability of best(), normalised by its length; 0 before the first word.
  [[nodiscard]] double best_score() const;

 private:
  [[nodiscard]] double normalised(double score, int64_t words) const;
  void finish(const std::vector<int32_t>& row, double score, int64_t words);

  SearchOptions options_;
  std::vector<std::vector<int32_t>> rows_;
  std::vector<double> scores_;  // by row: the sum of log probabilities
  int finished_ = 0;
  std::vector<int32_t> best_;
  double best_score_ = 0.0;  // normalised; of best_
};

}  // namespace penstock
