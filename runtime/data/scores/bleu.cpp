#include "runtime/data/scores/bleu.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <stdexcept>
#include <vector>

namespace penstock {
namespace {

using Words = std::vector<std::string_view>;
using Counts = std::map<Words, int64_t>;

Words words_of(std::string_view tokenized) {
  Words words;
  while (!tokenized.empty()) {
    const size_t end = std::min(tokenized.find(' '), tokenized.size());
    words.push_back(tokenized.substr(0, end));
    tokenized.remove_prefix(std::min(end + 1, tokenized.size()));
  }
  return words;
}

Counts ngrams(const Words& words, size_t order) {
  Counts counts;
  for (size_t i = 0; i + order <= words.size(); ++i) {
    const auto first = words.begin() + static_cast<ptrdiff_t>(i);
    ++counts[Words(first, first + static_cast<ptrdiff_t>(order))];
  }
  return counts;
}

}  // namespace

void Bleu::add(std::string_view hypothesis, std::string_view reference) {
  const std::string told = tokenize_13a(hypothesis);
  const std::string wanted = tokenize_13a(reference);
  const Words ours = words_of(told);
  const Words theirs = words_of(wanted);
  ++sentences_;
  words_ += static_cast<int64_t>(ours.size());
  reference_words_ += static_cast<int64_t>(theirs.size());
  for (size_t n = 0; n < kOrders; ++n) {
    const Counts reference_counts = ngrams(theirs, n + 1);
    for (const auto& [ngram, count] : ngrams(ours, n + 1)) {
      counted_[n] += count;
      const auto found = reference_counts.find(ngram);
      if (found != reference_counts.end()) matched_[n] += std::min(count, found->second);
    }
  }
}

// Returns the precisions in percent, one for each length of n-grams (order). An order without a
// match gets a small value instead of 0: the first such order counts as half a match, the second as
// a quarter, and so on. If no order has a match, all are 0.
std::array<double, Bleu::kOrders> Bleu::precisions() const {
  std::array<double, kOrders> all{};
  if (std::all_of(matched_.begin(), matched_.end(), [](int64_t n) { return n == 0; })) return all;
  double unmatched = 1.0;
  for (size_t n = 0; n < kOrders && counted_[n] > 0; ++n) {
    const auto counted = static_cast<double>(counted_[n]);
    if (matched_[n] == 0) {
      unmatched *= 2.0;
      all[n] = 100.0 / (unmatched * counted);
    } else {
      all[n] = 100.0 * static_cast<double>(matched_[n]) / counted;
    }
  }
  return all;
}

double Bleu::precision(int order) const {
  if (order < 1 || order > kOrders) throw std::invalid_argument("BLEU knows 1- to 4-grams");
  return precisions()[static_cast<size_t>(order) - 1];
}

double Bleu::brevity_penalty() const {
  if (words_ >= reference_words_) return 1.0;
  if (words_ == 0) return 0.0;
  return std::exp(1.0 - static_cast<double>(reference_words_) / static_cast<double>(words_));
}

double Bleu::score() const {
  double logarithms = 0.0;
  for (const double precision : precisions()) {
    if (precision == 0.0) return 0.0;
    logarithms += std::log(precision);
  }
  return brevity_penalty() * std::exp(logarithms / kOrders);
}

std::string Bleu::text() const {
  const auto all = precisions();
  const double ratio = reference_words_ > 0
                           ? static_cast<double>(words_) / static_cast<double>(reference_words_)
                           : 0.0;
  std::array<char, 200> line{};
  std::snprintf(line.data(), line.size(),
                "%.2f %.1f/%.1f/%.1f/%.1f (BP = %.3f ratio = %.3f hyp_len = %lld ref_len = %lld)",
                score(), all[0], all[1], all[2], all[3], brevity_penalty(), ratio,
                static_cast<long long>(words_), static_cast<long long>(reference_words_));
  return line.data();
}

std::string bleu_signature(const std::string& version) {
  return "nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:penstock-" + version;
}

}  // namespace penstock
