// runtime/data/scores/bleu.h -- BLEU of a corpus (Papineni et al. 2002), as sacreBLEU (Post 2018)
// defines it: 13a tokens, one reference, case kept, exponential smoothing (Chen and Cherry 2014,
// method 3). Uses nothing else of Penstock.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace penstock {

// Words of a line as mteval-v13a makes them, joined by single spaces. The line is UTF-8.
[[nodiscard]] std::string tokenize_13a(std::string_view line);

class Bleu {
 public:
  // Adds a sentence of the corpus: what was translated, and the reference.
  void add(std::string_view hypothesis, std::string_view reference);

  [[nodiscard]] double score() const;  // in [0, 100]; 0 where not a single word matches
  [[nodiscard]] double precision(int order) const;  // of n-grams of that order, 1 to 4; in percent
  [[nodiscard]] double brevity_penalty() const;     // 0 to 1
  [[nodiscard]] int64_t sentences() const { return sentences_; }
  [[nodiscard]] int64_t words() const { return words_; }  // of all hypotheses
  [[nodiscard]] int64_t reference_words() const { return reference_words_; }
  // "25.31 62.1/32.0/18.9/11.4 (BP = 0.985 ratio = 0.985 hyp_len = 11807 ref_len = 11988)"
  [[nodiscard]] std::string text() const;

 private:
  static constexpr int kOrders = 4;
  [[nodiscard]] std::array<double, kOrders> precisions() const;

  std::array<int64_t, kOrders> matched_{}, counted_{};  // by order
  int64_t sentences_ = 0, words_ = 0, reference_words_ = 0;
};

// "nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:penstock-<version>": how the score was
// made, in sacreBLEU's words.
[[nodiscard]] std::string bleu_signature(const std::string& version);

}  // namespace penstock
