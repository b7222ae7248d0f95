// The stages that the skips of a network join.
#include "runtime/planning/plan/stages/stage_skips.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace penstock {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

const std::vector<LayerSkip> kSkips = {{0, 8, 100}, {1, 7, 20}, {2, 4, 3}, {5, 6, 1}};

TEST(StageSkips, OnlyThoseOverTheHeadsOfOthersAreEdgesOfTheirOwn) {
  EXPECT_THAT(stage_skips(std::vector{9}, kSkips), IsEmpty());
  EXPECT_THAT(stage_skips(std::vector{3, 6}, kSkips), IsEmpty());
  // Stages of layers 0-1, 2-4, 5-6, 7-8: two skips share the way from the first to the last.
  EXPECT_THAT(stage_skips(std::vector{2, 3, 2, 2}, kSkips), ElementsAre(Skip{0, 3}));
  EXPECT_THAT(stage_skips(std::vector{1, 1, 1, 1, 1, 1, 1, 1, 1}, kSkips),
              ElementsAre(Skip{0, 8}, Skip{1, 7}, Skip{2, 4}));
}

TEST(StageSkips, BytesOfOneWayAddUp) {
  const std::vector split = {2, 3, 2, 2};
  EXPECT_EQ(skip_bytes(split, kSkips, 0, 3), 120);
  EXPECT_EQ(skip_bytes(split, kSkips, 0, 1), 0);
  EXPECT_EQ(skip_bytes(std::vector{3, 6}, kSkips, 0, 1), 123);
}

}  // namespace
}  // namespace penstock
