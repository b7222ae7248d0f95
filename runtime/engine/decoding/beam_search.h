// runtime/engine/decoding/beam_search.h -- the search for one sentence's best words, round by
// round. Pure host code: where the probabilities come from is rounds.h's business.
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
// The `n` most probable words, best first, the smaller of equals first, of a row of logits.
[[nodiscard]] std::vector<NextWord> best_candidates(std::span<const float> logits, int n);

struct SearchOptions {
  int beams = 1;                // 1: greedy
  double length_penalty = 0.6;  // alpha of Wu et al. 2016, eq. 14; 0: none
  int64_t longest = 0;          // in words; the end counts as one
  int32_t begin = 0, end = 0;
};

class BeamSearch {
 public:
  explicit BeamSearch(const SearchOptions& options);

  // The rows to find next words for, at most `beams`: begin and the words so far. Empty: done.
  [[nodiscard]] std::span<const std::vector<int32_t>> rows() const { return rows_; }
  // How many candidates extend() wants of each row.
  [[nodiscard]] int candidates() const { return 2 * options_.beams; }
  // Extends each row by its candidates, which are given by row, best first.
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
