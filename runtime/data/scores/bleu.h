// runtime/data/scores/bleu.h -- Bleu: the BLEU score of a translated corpus (Papineni et al. 2002),
// with the numbers that sacreBLEU (Post 2018) gives by default.
//
// That is: words as its tokenizer 13a makes them, one reference for each sentence, upper and lower
// case told apart, exponential smoothing (Chen and Cherry 2014, method 3). Call add() for each
// sentence, then read the score of all of them together.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace penstock {

// The words of a line, which is UTF-8, as the script mteval-v13a cuts them, with single spaces
// between.
[[nodiscard]] std::string tokenize_13a(std::string_view line);

class Bleu {
 public:
  // Adds a sentence of the corpus: the translation to judge, and the reference translation.
  void add(std::string_view hypothesis, std::string_view reference);

  [[nodiscard]] double score() const;  // in [0, 100]; 0 where not a single word matches
  // The share of the translations' n-grams, n = `order` from 1 to 4, that the references have, in
  // percent.
  [[nodiscard]] double precision(int order) const;
  [[nodiscard]] double brevity_penalty() const;  // 0 to 1
  [[nodiscard]] int64_t sentences() const { return sentences_; }
  [[nodiscard]] int64_t words() const { return words_; }  // of all translations
  [[nodiscard]] int64_t reference_words() const { return reference_words_; }
  // Score, the four precisions and lengths, as sacreBLEU prints them:
  // "25.31 62.1/32.0/18.9/11.4 (BP = 0.985 ratio = 0.985 hyp_len = 11807 ref_len = 11988)"
  [[nodiscard]] std::string text() const;

 private:
  static constexpr int kOrders = 4;
  [[nodiscard]] std::array<double, kOrders> precisions() const;

  std::array<int64_t, kOrders> matched_{}, counted_{};  // n-grams, by n - 1
  int64_t sentences_ = 0, words_ = 0, reference_words_ = 0;
};

// "nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:penstock-<version>": how the score was
// made, in sacreBLEU's words.
[[nodiscard]] std::string bleu_signature(const std::string& version);

}  // namespace penstock
