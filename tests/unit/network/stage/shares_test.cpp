// Shares of replicas: of equal size but for a granule, cut where an update's and a norm's bits
// cannot tell, and for tied parameters alike on all stages.
#include "runtime/network/stage/shares.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

namespace penstock {
namespace {

using Places = std::vector<ParameterPlace>;

// Parameters of these sizes, one after another in both vectors.
Places side_by_side(const std::vector<int64_t>& sizes, int64_t from = 0) {
  Places places;
  for (const int64_t size : sizes) {
    const int64_t room = (size + 15) / 16 * 16;
    places.push_back({.gradient = from, .value = from, .elements = size, .room = room});
    from += room;
  }
  return places;
}

// The number of elements in [cuts[r], cuts[r + 1]) that are no padding.
int64_t own(const Stretch& stretch, const Places& places, size_t r) {
  int64_t elements = 0;
  for (const ParameterPlace& place : places) {
    const int64_t at = place.gradient - stretch.gradient;
    if (at < 0 || at >= stretch.elements) continue;
    const int64_t first = std::clamp<int64_t>(stretch.cuts[r] - at, 0, place.elements);
    const int64_t last = std::clamp<int64_t>(stretch.cuts[r + 1] - at, 0, place.elements);
    elements += last - first;
    EXPECT_TRUE(first % kShareGranule == 0 || first == place.elements) << "cut at " << first;
  }
  return elements;
}

TEST(Shares, AreEqualButForAGranuleAfterEveryBucket) {
  std::mt19937 engine(1);
  for (const int replicas : {2, 3, 4, 7, 64}) {
    ShareCutter cutter(replicas);
    std::vector<int64_t> shares(static_cast<size_t>(replicas), 0);
    int64_t all = 0;
    for (int bucket = 0; bucket < 20; ++bucket) {
      std::vector<int64_t> sizes;
      for (int i = 0; i < 12; ++i)
        sizes.push_back(std::uniform_int_distribution(1, 1 << (4 + i))(engine));
      const Places places = side_by_side(sizes);
      const std::vector<Stretch> stretches = cutter.cut(places);
      ASSERT_EQ(stretches.size(), 1U);
      EXPECT_EQ(stretches[0].cuts.front(), 0);
      EXPECT_EQ(stretches[0].cuts.back(), places.back().gradient + places.back().room);
      for (const int64_t size : sizes) all += size;
      int64_t sum = 0;
      for (size_t r = 0; r < shares.size(); ++r) {
        shares[r] += own(stretches[0], places, r);
        sum += shares[r];
        EXPECT_LE(shares[r], all / replicas + kShareGranule)
            << "replica " << r << " of " << replicas;
      }
      EXPECT_EQ(sum, all);
    }
  }
}

TEST(Shares, OfATiedParameterDependOnItsSizeAlone) {
  Places first = side_by_side({100, 50000, 70});
  Places second = side_by_side({9000, 50000});
  first[1].tied = second[1].tied = true;
  second[1].value = -1;  // a second holder on its stage
  const std::vector<Stretch> here = ShareCutter(3).cut(first);
  const std::vector<Stretch> there = ShareCutter(3).cut(second);
  ASSERT_EQ(here.size(), 3U);
  ASSERT_EQ(there.size(), 2U);
  EXPECT_EQ(here[1].cuts, there[1].cuts);
  EXPECT_EQ(there[1].value, -1);
  EXPECT_THAT(here[1].cuts, testing::ElementsAre(0, 4 * kShareGranule, 8 * kShareGranule, 50000));
}

// Buckets of matrices that are not cut, and of others between them.
TEST(Shares, OfWholeParametersAreEqualButForTheLargest) {
  std::mt19937 engine(2);
  for (const int replicas : {2, 3, 7}) {
    ShareCutter cutter(replicas);
    std::vector<int64_t> shares(static_cast<size_t>(replicas), 0);
    int64_t all = 0;
    int64_t largest = kShareGranule;
    for (int bucket = 0; bucket < 20; ++bucket) {
      std::vector<int64_t> sizes;
      for (int i = 0; i < 9; ++i) sizes.push_back(std::uniform_int_distribution(1, 100000)(engine));
      Places places = side_by_side(sizes);
      for (size_t p = 0; p < places.size(); p += 1 + p % 2) {
        places[p].whole = true;
        largest = std::max(largest, places[p].elements);
      }
      const std::vector<Stretch> stretches = cutter.cut(places);
      ASSERT_EQ(stretches.size(), 1U);
      for (const ParameterPlace& place : places) {
        all += place.elements;
        const auto inside = [&](int64_t cut) {
          return cut > place.gradient && cut < place.gradient + place.elements;
        };
        EXPECT_TRUE(!place.whole || std::ranges::none_of(stretches[0].cuts, inside));
      }
      for (size_t r = 0; r < shares.size(); ++r) {
        shares[r] += own(stretches[0], places, r);
        EXPECT_LE(shares[r], all / replicas + largest) << "replica " << r << " of " << replicas;
      }
    }
  }
}

// A frozen parameter has a value and no gradient: what is behind it is a stretch of its own.
TEST(Shares, StretchesLieSideBySideInBothVectors) {
  Places places = side_by_side({32, 32, 32});
  places[2].value += 160;
  const std::vector<Stretch> stretches = ShareCutter(2).cut(places);
  ASSERT_EQ(stretches.size(), 2U);
  EXPECT_EQ(stretches[0].elements, 64);
  EXPECT_EQ(stretches[1].gradient, 64);
  EXPECT_EQ(stretches[1].value, 224);
}

}  // namespace
}  // namespace penstock
