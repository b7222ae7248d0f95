// BLEU against the scores that sacreBLEU 2.6.0 gave the files beside this one, and its edges.
#include "runtime/data/scores/bleu.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <vector>

namespace penstock {
namespace {

std::vector<std::string> lines_of(const std::string& file) {
  std::ifstream stream(PENSTOCK_SCORES "/" + file);
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  EXPECT_FALSE(lines.empty()) << file;
  return lines;
}

Bleu score_of(const std::vector<std::string>& hypotheses,
              const std::vector<std::string>& references) {
  EXPECT_EQ(hypotheses.size(), references.size());
  Bleu bleu;
  for (size_t i = 0; i < hypotheses.size(); ++i) bleu.add(hypotheses[i], references[i]);
  return bleu;
}

TEST(Bleu, IsThatOfSacrebleu) {
  struct Row {
    const char* file;
    double score;
    const char* text;
  };
  for (const Row& row :
       {Row{"good.txt", 81.99216473717009,
            "81.99 97.7/87.5/79.9/73.5 (BP = 0.974 ratio = 0.974 hyp_len = 343 ref_len = 352)"},
        Row{"fair.txt", 25.985703967951512,
            "25.99 83.9/44.5/25.5/15.0 (BP = 0.752 ratio = 0.778 hyp_len = 274 ref_len = 352)"},
        Row{"poor.txt", 1.0318007389574608,
            "1.03 62.7/6.2/1.2/0.9 (BP = 0.228 ratio = 0.403 hyp_len = 142 ref_len = 352)"}}) {
    const Bleu bleu = score_of(lines_of(row.file), lines_of("reference.txt"));
    EXPECT_NEAR(bleu.score(), row.score, 1e-9) << row.file;
    EXPECT_EQ(bleu.text(), row.text);
    EXPECT_EQ(bleu.sentences(), 30);
  }
}

TEST(Bleu, IsHundredForTheReferenceItself) {
  const Bleu bleu = score_of(lines_of("reference.txt"), lines_of("reference.txt"));
  EXPECT_NEAR(bleu.score(), 100.0, 1e-9);
  EXPECT_EQ(bleu.brevity_penalty(), 1.0);
}

TEST(Bleu, SmoothsOrdersThatNeverMatch) {
  // 4 words match, 1 of 3 bigrams, no longer ones: 1 / (2 * 2) and 1 / (4 * 1).
  const Bleu bleu = score_of({"a b d c"}, {"a b c d"});
  EXPECT_DOUBLE_EQ(bleu.precision(1), 100.0);
  EXPECT_DOUBLE_EQ(bleu.precision(2), 100.0 / 3);
  EXPECT_DOUBLE_EQ(bleu.precision(3), 25.0);
  EXPECT_DOUBLE_EQ(bleu.precision(4), 25.0);
  EXPECT_NEAR(bleu.score(), 100 * std::pow(1.0 / 3 / 4 / 4, 0.25), 1e-9);
}

TEST(Bleu, IsZeroWhereThereIsNothingToCompare) {
  EXPECT_EQ(Bleu().score(), 0.0);
  EXPECT_EQ(score_of({""}, {"a b c d"}).score(), 0.0);
  EXPECT_EQ(score_of({""}, {"a b c d"}).brevity_penalty(), 0.0);
  EXPECT_EQ(score_of({"w x y z"}, {"a b c d"}).score(), 0.0);
  EXPECT_EQ(score_of({"a b c"}, {"a b c"}).score(), 0.0) << "no 4-gram: not defined, 0";
}

TEST(Bleu, CountsAWordNoMoreOftenThanTheReference) {
  EXPECT_DOUBLE_EQ(score_of({"the the the the"}, {"the cat is here"}).precision(1), 25.0);
}

TEST(Tokens, AreThoseOfMtevalV13a) {
  const std::vector<std::pair<const char*, const char*>> rows = {
      {"Hello, world!", "Hello , world !"},
      {"1.250,75 or 3,5", "1.250,75 or 3,5"},
      {"at 3. And 4, then", "at 3 . And 4 , then"},
      {"dots... and ..", "dots . . . and . ."},
      {"3-2 e-mail 1990-", "3 - 2 e-mail 1990 -"},
      {"(a) [b] {c} <d> 'e' \"f\"", "( a ) [ b ] { c } < d > 'e' \" f \""},
      {"&quot;a&amp;b&lt;c&gt; &amp;lt;", "\" a & b < c > <"},
      {"<skipped>x", "x"},
      {"  two\t\tspaces \xC2\xA0 and\xE2\x80\xAFmore\xE3\x80\x80", "two spaces and more"},
      {"caf\xC3\xA9. \xC3\xA9,a", "caf\xC3\xA9 . \xC3\xA9 , a"},
      {"a/b@c#d$e%f^g*h+i=j~k|l\\m`n_o",
       "a / b @ c # d $ e % f ^ g * h + i = j ~ k | l \\ m ` n _ o"},
      {"", ""},
  };
  for (const auto& [line, tokens] : rows) EXPECT_EQ(tokenize_13a(line), tokens) << line;
}

TEST(Signature, SaysHowTheScoreWasMade) {
  EXPECT_EQ(bleu_signature("0.1.0"),
            "nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:penstock-0.1.0");
}

}  // namespace
}  // namespace penstock
