#include "runtime/system/comm/grid.h"

#include <gtest/gtest.h>

#include <set>

namespace penstock {
namespace {

// Two pipelines of three positions:
//   stages    replica 0 is ranks 0 1 2, replica 1 is ranks 3 4 5
//   replicas  position 0 is ranks 0 1, position 1 is ranks 2 3, position 2 is ranks 4 5
TEST(Grid, PlacementStagesKeepsAPipelineTogether) {
  const Grid grid{3, 2, Placement::Stages};
  EXPECT_EQ(grid.world_rank(0, 0), 0);
  EXPECT_EQ(grid.world_rank(2, 0), 2);
  EXPECT_EQ(grid.world_rank(0, 1), 3);
  EXPECT_EQ(grid.world_rank(2, 1), 5);
}

TEST(Grid, PlacementReplicasKeepsAReductionTogether) {
  const Grid grid{3, 2, Placement::Replicas};
  EXPECT_EQ(grid.world_rank(0, 0), 0);
  EXPECT_EQ(grid.world_rank(0, 1), 1);
  EXPECT_EQ(grid.world_rank(2, 0), 4);
  EXPECT_EQ(grid.world_rank(2, 1), 5);
}

TEST(Grid, EveryRankStandsInOnePlaceAndBack) {
  for (const Placement placement : {Placement::Stages, Placement::Replicas}) {
    for (int positions = 1; positions <= 9; ++positions) {
      for (int replicas = 1; replicas <= 9; ++replicas) {
        const Grid grid{positions, replicas, placement};
        std::set<int> ranks;
        for (int position = 0; position < positions; ++position) {
          for (int replica = 0; replica < replicas; ++replica) {
            const int rank = grid.world_rank(position, replica);
            EXPECT_EQ(grid.position_of(rank), position);
            EXPECT_EQ(grid.replica_of(rank), replica);
            ranks.insert(rank);
          }
        }
        EXPECT_EQ(static_cast<int>(ranks.size()), grid.ranks());
        EXPECT_EQ(*ranks.begin(), 0);
        EXPECT_EQ(*ranks.rbegin(), grid.ranks() - 1);
      }
    }
  }
}

}  // namespace
}  // namespace penstock
