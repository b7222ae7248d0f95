// Beam search against a look at every sentence there is, and choices worked out by hand.
#include "runtime/engine/decoding/beam_search.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "kernels/philox.h"

namespace penstock {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

using Words = std::vector<int32_t>;
constexpr int32_t kBegin = 9;
constexpr int32_t kEnd = 0;
constexpr int32_t kVocabulary = 4;  // the end and three words

// The probabilities of the words that may follow: of one network, at random.
using Network = std::function<std::vector<float>(const Words&)>;
Network network(uint64_t number) {
  return [number](const Words& words) {
    uint64_t key = number;
    for (const int32_t word : words) key = key * 16 + static_cast<uint64_t>(word);
    std::vector<float> logits;
    for (uint64_t i = 0; i < kVocabulary; ++i) {
      const auto random = philox(random_stream(1, 2, key, i), 0);
      logits.push_back(static_cast<float>(random[0]) * 0x1p-30F);
    }
    return logits;
  };
}

Words row_of(const Words& words) {
  Words row = {kBegin};
  row.insert(row.end(), words.begin(), words.end());
  return row;
}

Words search(const Network& network, const SearchOptions& options) {
  BeamSearch search(options);
  for (int round = 0; !search.rows().empty(); ++round) {
    EXPECT_LT(round, options.longest) << "and yet it goes on";
    EXPECT_LE(std::ssize(search.rows()), options.beams);
    std::vector<std::vector<NextWord>> candidates;
    for (const Words& row : search.rows()) {
      EXPECT_EQ(std::ssize(row), round + 1);
      EXPECT_EQ(row[0], kBegin);
      candidates.push_back(best_candidates(network(row), search.candidates()));
    }
    search.extend(candidates);
  }
  return search.best();
}

// The best by score / ((5 + words) / 6)^alpha of all sentences of at most `longest` words, the end
// being one.
struct Best {
  Words words;
  double value = -std::numeric_limits<double>::infinity();
};
void look_at_all(const Network& network, const SearchOptions& options, const Words& words,
                 double score, Best& best) {
  if (std::ssize(words) == options.longest) return;
  for (const NextWord& next : best_candidates(network(row_of(words)), kVocabulary)) {
    const double sum = score + next.log_probability;
    if (next.word != kEnd) {
      Words longer = words;
      longer.push_back(next.word);
      look_at_all(network, options, longer, sum, best);
      continue;
    }
    const double length = static_cast<double>(words.size()) + 1.0;
    const double value = sum / std::pow((5.0 + length) / 6.0, options.length_penalty);
    if (value > best.value) best = {words, value};
  }
}

SearchOptions options(int beams, double length_penalty, int64_t longest = 5) {
  return {.beams = beams,
          .length_penalty = length_penalty,
          .longest = longest,
          .begin = kBegin,
          .end = kEnd};
}

TEST(BestCandidates, AreLogProbabilitiesInOrder) {
  const std::vector<float> logits = {0.0F, std::log(4.0F), std::log(2.0F), 0.0F};
  const std::vector<NextWord> best = best_candidates(logits, 3);
  ASSERT_EQ(best.size(), 3U);
  EXPECT_THAT((Words{best[0].word, best[1].word, best[2].word}), ElementsAre(1, 2, 0))
      << "the smaller of equals first";
  EXPECT_NEAR(best[0].log_probability, std::log(0.5), 1e-7);
  EXPECT_NEAR(best[1].log_probability, std::log(0.25), 1e-7);
  EXPECT_NEAR(best[2].log_probability, std::log(0.125), 1e-7);
}

// With room for every beginning, nothing that could win is lost.
TEST(BeamSearch, OfEnoughBeamsFindsTheBestSentenceOfAll) {
  for (const double alpha : {0.0, 0.6, 1.0, 3.0}) {
    for (uint64_t number = 0; number < 40; ++number) {
      const SearchOptions all = options(400, alpha);
      Best best;
      look_at_all(network(number), all, {}, 0.0, best);
      EXPECT_EQ(search(network(number), all), best.words) << number << ", alpha " << alpha;
    }
  }
}

TEST(BeamSearch, OfOneBeamTakesTheMostProbableWordEachTime) {
  for (uint64_t number = 0; number < 40; ++number) {
    Words words;
    while (std::ssize(words) < 5) {
      const int32_t word = best_candidates(network(number)(row_of(words)), 1)[0].word;
      if (word == kEnd) break;
      words.push_back(word);
    }
    EXPECT_EQ(search(network(number), options(1, 0.6)), words);
  }
}

// Candidates by hand: a word and its probability.
using Scores = std::vector<std::pair<int32_t, double>>;
void extend(BeamSearch& search, const std::vector<Scores>& rows) {
  std::vector<std::vector<NextWord>> candidates;
  for (const Scores& row : rows) {
    candidates.emplace_back();
    for (const auto& [word, probability] : row) {
      candidates.back().push_back({word, std::log(probability)});
    }
  }
  search.extend(candidates);
}

TEST(BeamSearch, KeepsTheBestRowsWhereverTheyComeFrom) {
  BeamSearch search(options(2, 0.0));
  extend(search, {{{1, 0.6}, {2, 0.3}, {3, 0.1}}});
  EXPECT_THAT(search.rows(), ElementsAre(Words{kBegin, 1}, Words{kBegin, 2}));
  // 0.18 and 0.15 from the second, 0.24 from the first
  extend(search, {{{1, 0.4}, {2, 0.2}}, {{3, 0.6}, {2, 0.4}}});
  EXPECT_THAT(search.rows(), ElementsAre(Words{kBegin, 1, 1}, Words{kBegin, 2, 3}));
}

TEST(BeamSearch, AnEndThatIsNotAmongTheBestIsNone) {
  BeamSearch search(options(2, 0.0));
  extend(search, {{{1, 0.5}, {2, 0.4}, {kEnd, 0.1}}});
  EXPECT_THAT(search.rows(), ElementsAre(Words{kBegin, 1}, Words{kBegin, 2}));
  EXPECT_THAT(search.best(), ElementsAre(1)) << "nothing has ended: the best so far";
  // Now one has, as the second best: its place is taken by the next.
  extend(search, {{{1, 0.8}, {kEnd, 0.2}}, {{kEnd, 0.9}, {3, 0.1}}});
  EXPECT_THAT(search.best(), ElementsAre(2));
  EXPECT_THAT(search.rows(), ElementsAre(Words{kBegin, 1, 1}, Words{kBegin, 2, 3}));
}

TEST(BeamSearch, StopsWhenNoRowCanStillWin) {
  BeamSearch certain(options(2, 0.0));
  extend(certain, {{{kEnd, 0.6}, {1, 0.4}}});
  EXPECT_THAT(certain.rows(), IsEmpty());
  EXPECT_THAT(certain.best(), IsEmpty()) << "the empty sentence";
  // A reward for length: 0.4 may still win, were it certain from here on.
  BeamSearch open(options(2, 3.0));
  extend(open, {{{kEnd, 0.6}, {1, 0.4}}});
  EXPECT_THAT(open.rows(), ElementsAre(Words{kBegin, 1}));
}

TEST(BeamSearch, WithoutAnEndIsTheBestRowOfTheGreatestLength) {
  BeamSearch search(options(2, 0.6, 2));
  extend(search, {{{1, 0.6}, {2, 0.4}}});
  extend(search, {{{1, 0.5}, {2, 0.5}}, {{3, 0.9}, {2, 0.1}}});
  EXPECT_THAT(search.rows(), IsEmpty());
  EXPECT_THAT(search.best(), ElementsAre(2, 3));
}

}  // namespace
}  // namespace penstock
