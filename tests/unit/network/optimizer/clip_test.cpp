// Clipping by the global norm.
#include "runtime/network/optimizer/clip.h"

#include <gtest/gtest.h>

#include <vector>

namespace penstock {
namespace {

TEST(Clip, NormIsTheRootOfTheSumInTheGivenOrder) {
  EXPECT_EQ(gradient_norm(std::vector<double>{9.0, 16.0}), 5.0);
  EXPECT_EQ(gradient_norm({}), 0.0);
  // Large first loses the small ones: the order is the caller's and is kept.
  EXPECT_EQ(gradient_norm(std::vector<double>{1e32, 1.0, -1e32}), 0.0);
  EXPECT_EQ(gradient_norm(std::vector<double>{1e32, -1e32, 1.0}), 1.0);
}

TEST(Clip, ScalesOnlyWhatIsAboveTheLimit) {
  EXPECT_EQ(clip_scale(8.0, 2.0), 0.25);
  EXPECT_EQ(clip_scale(2.0, 2.0), 1.0);
  EXPECT_EQ(clip_scale(1.5, 2.0), 1.0);
  EXPECT_EQ(clip_scale(0.0, 2.0), 1.0);
  EXPECT_EQ(clip_scale(1e30, 0.0), 1.0);
}

}  // namespace
}  // namespace penstock
