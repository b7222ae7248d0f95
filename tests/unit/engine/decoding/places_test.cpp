// The rows that texts have while they grow.
#include "runtime/engine/decoding/places.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "kernels/error.h"

namespace penstock {
namespace {

using testing::ElementsAre;

std::vector<int64_t> take_all(Places& places) {
  std::vector<int64_t> all;
  while (places.any_free()) all.push_back(places.take());
  return all;
}

TEST(PlacesOfTexts, AreWholeTextsOnOneReplica) {
  Places one(6, 2, 1);
  EXPECT_EQ(one.texts(), 12);
  EXPECT_THAT(take_all(one), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11));
  Places two(7, 3, 2);  // the seventh row of a replica stays empty
  EXPECT_EQ(two.texts(), 9);
  EXPECT_THAT(take_all(two), ElementsAre(0, 2, 4, 7, 9, 11, 14, 16, 18));
  Places all(4, 2, 4);
  EXPECT_THAT(take_all(all), ElementsAre(0, 4));
}

TEST(PlacesOfTexts, AreGivenAgain) {
  Places places(4, 2, 2);
  EXPECT_THAT(take_all(places), ElementsAre(0, 2, 4, 6));
  EXPECT_THROW((void)places.take(), Error);
  for (const int64_t place : {4, 0, 6}) places.give_back(place);
  EXPECT_THAT(take_all(places), ElementsAre(0, 4, 6));
}

TEST(PlacesOfTexts, AreNoneForATextThatDoesNotFit) {
  EXPECT_THROW(Places(3, 8, 4), Error);
  EXPECT_THROW(Places(3, 8, 0), Error);
}

}  // namespace
}  // namespace penstock
