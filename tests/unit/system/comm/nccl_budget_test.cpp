// What the kernels of NCCL may occupy of a GPU.
#include "runtime/system/comm/nccl_budget.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernels/error.h"

namespace penstock {
namespace {

constexpr int kH200 = 132;  // multiprocessors
constexpr int kA100 = 108;

// A stage in the middle of a pipeline has four ends: activations and gradients, in and out.
TEST(NcclBudget, EdgesOfAnOrdinaryStageGetWhatTheyNeed) {
  const NcclBudget middle = nccl_budget(kH200, 4, false);
  EXPECT_EQ(middle.edge, 4);
  EXPECT_EQ(middle.sums, 0);
  EXPECT_EQ(middle.left, kH200 - 16);
  EXPECT_EQ(nccl_budget(kH200, 2, false).edge, 8);
  EXPECT_EQ(nccl_budget(kA100, 2, false).edge, 4);
}

TEST(NcclBudget, ManyEdgesShareWhatFewHave) {
  for (const int processors : {kA100, kH200}) {
    for (int edges = 1; edges <= processors / 8; ++edges) {
      const NcclBudget budget = nccl_budget(processors, edges, true);
      EXPECT_GE(budget.edge, 1);
      EXPECT_LE(edges * budget.edge, processors / 8);
      EXPECT_EQ(budget.edge & (budget.edge - 1), 0) << "no power of two";
      EXPECT_EQ(budget.left, processors - edges * budget.edge - budget.sums);
      EXPECT_GE(budget.left, processors * 3 / 4);
    }
  }
}

TEST(NcclBudget, SumsHaveTheirOwnPart) {
  EXPECT_EQ(nccl_budget(kH200, 0, true).sums, 16);
  EXPECT_EQ(nccl_budget(kH200, 12, true).sums, 16);
  EXPECT_EQ(nccl_budget(kH200, 0, false).left, kH200);
}

// Two chunks and two edges of 8 blocks were all right; 16 edges of 8 were the whole chip.
TEST(NcclBudget, MoreEdgesThanTheSharedPartHasGetOneBlockEachOrAreRefused) {
  EXPECT_EQ(nccl_budget(kH200, 40, true).edge, 1);
  try {
    (void)nccl_budget(kH200, 67, false);
    ADD_FAILURE() << "67 of 132 multiprocessors were taken";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::Input);
    EXPECT_THAT(error.what(), testing::HasSubstr("67 of a GPU's 132 multiprocessors"));
    EXPECT_THAT(error.what(), testing::HasSubstr("--link mpi-staged"));
  }
}

TEST(NcclBudget, ASmallPartOfAGpuStillHasOneBlockForEach) {
  EXPECT_EQ(nccl_budget(7, 2, true).edge, 1);
}

}  // namespace
}  // namespace penstock
