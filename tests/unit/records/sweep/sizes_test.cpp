// The sizes of points: what the grid says stays, what follows from it follows.
#include "runtime/records/sweep/sizes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace penstock {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(SweepSizes, CombinationsAreAllInTheOrderOfTheGrid) {
  EXPECT_THAT(combinations({2, 3}),
              ElementsAre(ElementsAre(0, 0), ElementsAre(0, 1), ElementsAre(0, 2),
                          ElementsAre(1, 0), ElementsAre(1, 1), ElementsAre(1, 2)));
  EXPECT_EQ(combinations({}).size(), 1U);
}

TEST(SweepSizes, ReplicasOrStagesFollowFromTheRanks) {
  PointSizes sizes{.stages = 2};
  EXPECT_TRUE(fit_ranks(8, {.stages = true}, sizes));
  EXPECT_EQ(sizes.replicas, 4);
  EXPECT_FALSE(fit_ranks(1, {.stages = true}, sizes));
  sizes = {.stages = 1, .replicas = 2, .chunks = 2};
  EXPECT_TRUE(fit_ranks(6, {.replicas = true}, sizes));
  EXPECT_EQ(sizes.stages, 6);
  EXPECT_EQ(sizes.ranks(), 6);
  // Where the grid lists both, ranks only choose.
  EXPECT_FALSE(fit_ranks(4, {.stages = true, .replicas = true}, sizes));
}

TEST(SweepSizes, StrongScalingKeepsTheMiniBatchAndWeakScalingThatOfARank) {
  PointSizes sizes{.stages = 2, .replicas = 2, .micro_batches = 1, .micro_batch_size = 4};
  EXPECT_EQ(fit_mini_batch({.scaling = Scaling::Strong, .mini_batch = 32}, sizes), "");
  EXPECT_EQ(sizes.micro_batches, 4);
  EXPECT_EQ(fit_mini_batch({.scaling = Scaling::Weak, .mini_batch = 32}, sizes), "");
  EXPECT_EQ(sizes.micro_batches, 16);
  EXPECT_EQ(sizes.mini_batch(), 32 * 4);
  sizes.micro_batches = 8;
  EXPECT_EQ(fit_mini_batch({.mini_batch = 64, .micro_batches = true}, sizes), "");
  EXPECT_EQ(sizes.micro_batch_size, 4);
  const PointSizes before = sizes;
  EXPECT_EQ(fit_mini_batch({.scaling = Scaling::AsGiven, .mini_batch = 7}, sizes), "");
  EXPECT_EQ(sizes, before);
}

TEST(SweepSizes, WhatDoesNotDivideIsSaid) {
  PointSizes sizes{.replicas = 3, .micro_batches = 4, .micro_batch_size = 4};
  EXPECT_THAT(fit_mini_batch({.mini_batch = 32}, sizes),
              HasSubstr("32 samples is no multiple of 3 replicas x micro-batches of 4"));
  EXPECT_THAT(fit_mini_batch({.mini_batch = 32, .micro_batches = true}, sizes),
              HasSubstr("no multiple of 3 replicas x 4 micro-batches"));
  EXPECT_THAT(
      fit_mini_batch({.mini_batch = 32, .micro_batches = true, .micro_batch_size = true}, sizes),
      HasSubstr("are not the mini-batch of 32"));
  PointSizes ones{.replicas = 1, .micro_batches = 1, .micro_batch_size = 1};
  EXPECT_EQ(
      fit_mini_batch({.mini_batch = 2, .micro_batches = true, .micro_batch_size = true}, ones),
      "1 replica x 1 micro-batch x 1 sample are not the mini-batch of 2");
}

}  // namespace
}  // namespace penstock
