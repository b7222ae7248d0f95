// What a pass over the validation data says while it goes on.
#include "runtime/engine/training/evaluation/evaluation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "kernels/error.h"

namespace penstock {
namespace {

TEST(ToldNowAndThen, ALongPassSaysHowFarItIsOnceAMinute) {
  std::vector<std::string> said;
  const auto told = told_now_and_then(
      200, [&](const std::string& line) { said.push_back(line); }, std::chrono::seconds(0));
  for (int64_t done = 1; done <= 4; ++done) told(done, 4);
  EXPECT_THAT(said, testing::ElementsAre(
                        testing::MatchesRegex("evaluating: 25 % of 200 samples, 0.0 s left")));
}

TEST(ToldNowAndThen, AShortPassSaysNothing) {
  const auto told = told_now_and_then(200, [](const std::string& line) { ADD_FAILURE() << line; });
  for (int64_t done = 1; done <= 4; ++done) told(done, 4);
  const auto at_the_end = told_now_and_then(
      200, [](const std::string& line) { ADD_FAILURE() << line; }, std::chrono::seconds(0));
  at_the_end(4, 4);
}

// No distribution has such a logit: the difference of two infinities is no number.
TEST(RefuseNoNumbers, RefusesNanAndInfinity) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (const float bad : {std::nanf(""), kInfinity}) {
    const std::vector<float> logits = {1.0F, bad, -3.0F};
    EXPECT_THROW(refuse_no_numbers(logits), Error) << bad;
  }
  const std::vector<float> masked = {1.0F, -kInfinity, -3.0F};
  EXPECT_NO_THROW(refuse_no_numbers(masked));
}

}  // namespace
}  // namespace penstock
