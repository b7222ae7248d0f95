#include "runtime/engine/decoding/beam_search.h"

#include <algorithm>
#include <cmath>

#include "runtime/engine/decoding/sampling.h"

namespace penstock {
namespace {

// This is a row of the beam with one word that can continue it, and the score of the two together.
struct Extension {
  size_t row = 0;
  int32_t word = 0;
  double score = 0.0;
};

}  // namespace

std::vector<NextWord> best_candidates(std::span<const float> logits, int n) {
  const float largest = *std::max_element(logits.begin(), logits.end());
  double sum = 0.0;
  for (const float logit : logits) sum += std::exp(double{logit} - double{largest});
  const double logsumexp = double{largest} + std::log(sum);
  std::vector<NextWord> best;
  for (const int32_t word : most_probable(logits, static_cast<size_t>(n))) {
    best.push_back({word, double{logits[static_cast<size_t>(word)]} - logsumexp});
  }
  return best;
}

BeamSearch::BeamSearch(const SearchOptions& options)
    : options_(options), rows_{{options.begin}}, scores_{0.0} {}

double BeamSearch::normalised(double score, int64_t words) const {
  return score / std::pow((5.0 + static_cast<double>(words)) / 6.0, options_.length_penalty);
}

void BeamSearch::finish(const std::vector<int32_t>& row, double score, int64_t words) {
  const double value = normalised(score, words);
  if (finished_ == 0 || value > best_score_) {
    best_.assign(row.begin() + 1, row.end());
    best_score_ = value;
  }
  ++finished_;
}

void BeamSearch::extend(std::span<const std::vector<NextWord>> candidates) {
  std::vector<Extension> all;
  for (size_t r = 0; r < rows_.size(); ++r) {
    for (const NextWord& next : candidates[r]) {
      all.push_back({r, next.word, scores_[r] + next.log_probability});
    }
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const Extension& a, const Extension& b) { return a.score > b.score; });
  const auto beams = static_cast<size_t>(options_.beams);
  const auto words = static_cast<int64_t>(rows_[0].size());  // of an extended row, without `begin`
  std::vector<std::vector<int32_t>> rows;
  std::vector<double> scores;
  for (size_t i = 0; i < all.size() && rows.size() < beams; ++i) {
    const Extension& next = all[i];
    if (next.word == options_.end) {
      // A row ends only if its end is among the `beams` best extensions; other ends are dropped.
      if (i < beams) finish(rows_[next.row], next.score, words);
      continue;
    }
    rows.push_back(rows_[next.row]);
    rows.back().push_back(next.word);
    scores.push_back(next.score);
  }
  rows_ = std::move(rows);
  scores_ = std::move(scores);
  const bool full = words >= options_.longest;
  if (full && finished_ == 0 && !rows_.empty()) finish(rows_[0], scores_[0], words);
  // Log probabilities only lower a score. So no row can come to more than the best row's present
  // score, normalised for the greatest length. The search ends if an ended row has as much already.
  const bool beaten =
      finished_ > 0 && !rows_.empty() && best_score_ >= normalised(scores_[0], options_.longest);
  if (full || finished_ >= options_.beams || beaten) {
    rows_.clear();
    scores_.clear();
  }
}

std::vector<int32_t> BeamSearch::best() const {
  if (finished_ > 0 || rows_.empty()) return best_;
  return {rows_[0].begin() + 1, rows_[0].end()};
}

double BeamSearch::best_score() const {
  if (finished_ > 0 || rows_.empty()) return best_score_;
  return rows_[0].size() > 1 ? normalised(scores_[0], std::ssize(rows_[0]) - 1) : 0.0;
}

}  // namespace penstock
