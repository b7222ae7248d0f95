// The word that a draw falls on, worked out by hand.
#include "runtime/engine/decoding/sampling.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "kernels/error.h"

namespace penstock {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Logits of the probabilities 1/8, 1/2, 1/4, 1/8: in order of probability the words 1, 2, 0, 3,
// which begin at 0, 4/8, 6/8 and 7/8.
const std::vector<float> kLogits = {0.0F, std::log(4.0F), std::log(2.0F), 0.0F};

std::vector<int32_t> words(const SamplingOptions& options, const std::vector<double>& draws,
                           const std::vector<float>& logits = kLogits) {
  std::vector<int32_t> found;
  for (const double draw : draws) found.push_back(sample(logits, options, draw));
  return found;
}

// transformers' RepetitionPenaltyLogitsProcessor(1.5) gives these.
TEST(RepetitionPenalty, MakesWordsOfTheTextLessProbableOnce) {
  const std::vector<float> logits = {3.0F, -3.0F, 1.5F, 0.0F};
  const std::vector<int32_t> text = {1, 0, 0, 3, 9, -1};
  EXPECT_THAT(penalised(logits, text, 1.5), ElementsAre(2.0F, -4.5F, 1.5F, 0.0F));
  EXPECT_THAT(penalised(logits, text, 1.0), ElementsAre(3.0F, -3.0F, 1.5F, 0.0F));
  EXPECT_THAT(penalised(logits, {}, 2.0), ElementsAre(3.0F, -3.0F, 1.5F, 0.0F));
}

TEST(MostProbable, AreInOrderAndTheSmallerOfEqualsComesFirst) {
  EXPECT_THAT(most_probable(kLogits, 4), ElementsAre(1, 2, 0, 3));
  EXPECT_THAT(most_probable(kLogits, 3), ElementsAre(1, 2, 0));
  EXPECT_THAT(most_probable(kLogits, 9), ElementsAre(1, 2, 0, 3));
}

TEST(Sampling, TakesTheWordThatTheDrawFallsOn) {
  EXPECT_THAT(words({}, {0.0, 0.49, 0.51, 0.74, 0.76, 0.87, 0.88, 0.999999999}),
              ElementsAre(1, 1, 2, 2, 0, 0, 3, 3));
}

// Weights of 1, 1, 1 and 1, so that edges are exact.
TEST(Sampling, AnEdgeBelongsToTheWordThatBeginsThere) {
  const std::vector<float> equal(4, 0.0F);
  EXPECT_THAT(words({}, {0.0, 0.25, 0.5, 0.75}, equal), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(words({.top_p = 0.5}, {0.999999}, equal), ElementsAre(1)) << "two are half";
}

TEST(Sampling, AtTemperatureZeroIsGreedyWhateverElseIsAsked) {
  const SamplingOptions greedy{.temperature = 0.0, .top_k = 3, .top_p = 0.99};
  EXPECT_THAT(words(greedy, {0.0, 0.5, 0.999}), ElementsAre(1, 1, 1));
  EXPECT_THAT(words(greedy, {0.999}, {2.0F, 5.0F, 5.0F}), ElementsAre(1)) << "the first of equals";
}

// T = 1/2 squares the weights: 1, 16, 4, 1 of 22. T = 2 takes roots: 1, 2, 1.414, 1 of 5.414.
TEST(Sampling, SharpensAndFlattensByTemperature) {
  const double end = 16.0 / 22.0;
  EXPECT_THAT(words({.temperature = 0.5}, {end - 0.001, end + 0.001, 20.1 / 22.0, 21.1 / 22.0}),
              ElementsAre(1, 2, 0, 3));
  const double flat = 2.0 / (4.0 + std::sqrt(2.0));
  EXPECT_THAT(words({.temperature = 2.0}, {flat - 0.001, flat + 0.001}), ElementsAre(1, 2));
}

TEST(Sampling, ByTopKLeavesTheRestOut) {
  // Two words of weights 4 and 2: the first ends at 2/3.
  EXPECT_THAT(words({.top_k = 2}, {0.66, 0.67, 0.999999}), ElementsAre(1, 2, 2));
  EXPECT_THAT(words({.top_k = 1}, {0.0, 0.999999}), ElementsAre(1, 1));
  EXPECT_THAT(words({.top_k = 100}, {0.88}), ElementsAre(3)) << "more than there are: all";
}

TEST(Sampling, ByTopPTakesTheFewestThatMakeUpTheShare) {
  EXPECT_THAT(words({.top_p = 0.5}, {0.0, 0.999999}), ElementsAre(1, 1));
  EXPECT_THAT(words({.top_p = 0.51}, {0.66, 0.67, 0.999999}), ElementsAre(1, 2, 2));
  EXPECT_THAT(words({.top_p = 0.76}, {0.999999}), ElementsAre(0));
  EXPECT_THAT(words({.top_p = 1e-9}, {0.999999}), ElementsAre(1)) << "at least one";
}

// The share counts among the words that top_k leaves: the first of the two makes up 2/3 of them.
TEST(Sampling, ByTopPComesAfterTopK) {
  EXPECT_THAT(words({.top_k = 2, .top_p = 0.66}, {0.999999}), ElementsAre(1));
  EXPECT_THAT(words({.top_k = 2, .top_p = 0.67}, {0.999999}), ElementsAre(2));
}

// Probabilities of 1/2, 1/4, 1/8 and 1/8. transformers' MinPLogitsWarper keeps the same words.
TEST(Sampling, ByMinPKeepsWhatIsThatProbableBesideTheMostProbable) {
  EXPECT_THAT(words({.min_p = 0.2}, {0.88, 0.999999}), ElementsAre(3, 3)) << "a quarter of it";
  EXPECT_THAT(words({.min_p = 0.3}, {0.66, 0.67, 0.999999}), ElementsAre(1, 2, 2));
  EXPECT_THAT(words({.min_p = 1.0}, {0.999999}), ElementsAre(1));
  // Temperature comes first: among the squares the second is a quarter of the first, no half.
  EXPECT_THAT(words({.temperature = 0.5, .min_p = 0.3}, {0.999999}), ElementsAre(1));
}

TEST(Sampling, BearsLogitsOfAnySize) {
  EXPECT_THAT(words({}, {0.4, 0.6}, {1e30F, 1e30F, -1e30F}), ElementsAre(0, 1));
  EXPECT_THAT(words({.temperature = 1e-30}, {0.999}, {1.0F, 1.0001F}), ElementsAre(1));
  EXPECT_THAT(words({}, {0.999999999}, {-INFINITY, 0.0F}), ElementsAre(1));
}

TEST(Sampling, RefusesOptionsOutOfRange) {
  const auto refused = [](const SamplingOptions& options) -> std::string {
    try {
      check(options);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::Input);
      return error.what();
    }
    return {};
  };
  EXPECT_THAT(refused({.temperature = -0.1}), HasSubstr("--temperature"));
  EXPECT_THAT(refused({.temperature = NAN}), HasSubstr("--temperature"));
  EXPECT_THAT(refused({.temperature = INFINITY}), HasSubstr("--temperature"));
  EXPECT_THAT(refused({.top_k = -1}), HasSubstr("--top-k"));
  EXPECT_THAT(refused({.top_p = 0.0}), HasSubstr("--top-p"));
  EXPECT_THAT(refused({.top_p = 1.1}), HasSubstr("--top-p"));
  EXPECT_THAT(refused({.top_p = NAN}), HasSubstr("--top-p"));
  EXPECT_THAT(refused({.min_p = -0.1}), HasSubstr("--min-p"));
  EXPECT_THAT(refused({.min_p = 1.1}), HasSubstr("--min-p"));
  EXPECT_THAT(refused({.min_p = NAN}), HasSubstr("--min-p"));
  EXPECT_THAT(refused({.repetition_penalty = 0.0}), HasSubstr("--repetition-penalty"));
  EXPECT_THAT(refused({.repetition_penalty = NAN}), HasSubstr("--repetition-penalty"));
  EXPECT_EQ(refused({.temperature = 0.0, .top_k = 1, .top_p = 1e-9}), "");
}

}  // namespace
}  // namespace penstock
