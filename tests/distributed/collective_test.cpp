// tests/distributed/collective_test.cpp -- small values between the ranks of a group, and the
// groups themselves.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "runtime/system/comm/network.h"
#include "tests/distributed/main.h"

namespace penstock {
namespace {

using testing::ElementsAreArray;
using testing::HasSubstr;

class Collectives : public testing::Test {
 protected:
  const Session& session_ = test_session();
  const int rank_ = session_.rank();
  const int ranks_ = session_.ranks();
  std::unique_ptr<Network> network_ =
      make_mpi_network(session_, {.positions = ranks_, .replicas = 1});
  Collective& world_ = network_->world();
};

TEST_F(Collectives, Sum) {
  std::vector<double> values = {1.0, static_cast<double>(rank_), std::ldexp(1.0, 10 * rank_)};
  world_.sum(values);
  double powers = 0.0;
  for (int r = 0; r < ranks_; ++r) powers += std::ldexp(1.0, 10 * r);
  EXPECT_THAT(values, ElementsAreArray({1.0 * ranks_, ranks_ * (ranks_ - 1) / 2.0, powers}));
}

// 1e16 + 1 + 1 - 1e16: from left to right every 1 is lost, in other orders some survive.
TEST_F(Collectives, SumInRankOrder) {
  std::vector<double> values = {1.0};
  if (rank_ == ranks_ - 1) values[0] = -1e16;
  if (rank_ == 0) values[0] = 1e16;
  world_.sum(values);
  EXPECT_EQ(values[0], ranks_ == 1 ? 1e16 : 0.0);
}

// Rank r brings r numbers: rank 0 none.
TEST_F(Collectives, GatherToTheFirst) {
  const std::vector<double> mine(static_cast<size_t>(rank_), 0.5 + rank_);
  std::vector<int> counts;
  std::vector<double> expected;
  for (int r = 0; r < ranks_ && rank_ == 0; ++r) {
    counts.push_back(r);
    expected.insert(expected.end(), static_cast<size_t>(r), 0.5 + r);
  }
  std::vector<double> all(expected.size());
  for (int round = 0; round < 3; ++round) {
    std::ranges::fill(all, -1.0);
    world_.gather(mine, counts, all);
    EXPECT_THAT(all, ElementsAreArray(expected));
  }
}

TEST_F(Collectives, GatherToTheFirstKnowsWhatFits) {
  if (rank_ != 0) return;
  const std::vector<double> mine(2, 1.0);
  std::vector<double> all(static_cast<size_t>(2 * ranks_ - 1));
  EXPECT_THROW(world_.gather(mine, std::vector<int>(static_cast<size_t>(ranks_), 2), all), Error);
  EXPECT_THROW(world_.gather(mine, std::vector<int>(static_cast<size_t>(ranks_ + 1)), all), Error);
}

TEST_F(Collectives, BroadcastNumbers) {
  for (int root = 0; root < ranks_; ++root) {
    std::vector<double> values = {0.1 * (rank_ + 1), std::numeric_limits<double>::quiet_NaN()};
    if (rank_ != root) values[1] = 0.0;
    world_.broadcast(values, root);
    EXPECT_EQ(values[0], 0.1 * (root + 1));
    EXPECT_TRUE(std::isnan(values[1])) << "from rank " << root;
  }
}

TEST_F(Collectives, GatherValuesOfDifferentLengths) {
  const std::vector<double> mine(static_cast<size_t>(rank_), 0.5 + rank_);
  std::vector<double> expected;
  for (int r = 0; r < ranks_; ++r) expected.insert(expected.end(), static_cast<size_t>(r), 0.5 + r);
  std::vector<double> all(expected.size());
  world_.gather_to_all(mine, all);
  EXPECT_THAT(all, ElementsAreArray(expected));
}

TEST_F(Collectives, GatherIntoTooLittleRoomIsABug) {
  const std::vector<double> mine(2, 1.0);
  std::vector<double> all(static_cast<size_t>(2 * ranks_ - 1));
  EXPECT_THROW(world_.gather_to_all(mine, all), Error);
}

TEST_F(Collectives, GatherOneNumber) {
  const int64_t big = int64_t{1} << 40;
  std::vector<int64_t> expected(static_cast<size_t>(ranks_));
  std::iota(expected.begin(), expected.end(), big);
  EXPECT_THAT(world_.gather_to_all(big + rank_), ElementsAreArray(expected));
}

TEST_F(Collectives, GatherText) {
  const auto text_of = [](int r) {
    return r == 1 ? std::string() : "rank " + std::string(static_cast<size_t>(r), 'x') + '\0';
  };
  const std::vector<std::string> all = world_.gather_text(text_of(rank_));
  if (rank_ != 0) {
    EXPECT_TRUE(all.empty());
    return;
  }
  ASSERT_EQ(static_cast<int>(all.size()), ranks_);
  for (int r = 0; r < ranks_; ++r) EXPECT_EQ(all[static_cast<size_t>(r)], text_of(r));
}

TEST_F(Collectives, BroadcastFromAnyRank) {
  for (int root = 0; root < ranks_; ++root) {
    const std::string text = "from " + std::to_string(root);
    EXPECT_EQ(world_.broadcast(rank_ == root ? text : "something else", root), text);
    EXPECT_EQ(world_.broadcast(rank_ == root ? "" : "something else", root), "");
  }
}

TEST(Groups, ArePipelinesAndReplicas) {
  const Session& session = test_session();
  if (session.ranks() != 4) GTEST_SKIP() << needs_ranks("4");
  for (const Placement placement : {Placement::Stages, Placement::Replicas}) {
    const Grid grid{2, 2, placement};
    const auto network = make_mpi_network(session, grid);
    const int position = grid.position_of(session.rank());
    const int replica = grid.replica_of(session.rank());
    EXPECT_EQ(network->pipeline().rank(), position);
    EXPECT_EQ(network->replicas().rank(), replica);
    EXPECT_THAT(network->pipeline().gather_to_all(session.rank()),
                ElementsAreArray({grid.world_rank(0, replica), grid.world_rank(1, replica)}));
    EXPECT_THAT(network->replicas().gather_to_all(session.rank()),
                ElementsAreArray({grid.world_rank(position, 0), grid.world_rank(position, 1)}));
  }
}

TEST(Groups, MustHoldEveryRank) {
  const Session& session = test_session();
  try {
    (void)make_mpi_network(session, {.positions = session.ranks() + 1, .replicas = 1});
    FAIL() << "a grid with a place too many was accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::Input);
    EXPECT_THAT(error.what(),
                HasSubstr("but " + std::to_string(session.ranks()) + " were started"));
  }
}

TEST(SessionOfThisHost, KnowsItsRanks) {
  const Session& session = test_session();
  EXPECT_EQ(session.local_ranks(), session.ranks());
  EXPECT_EQ(session.local_rank(), session.rank());
  EXPECT_FALSE(session.host().empty());
  EXPECT_FALSE(Session::library_version().empty());
}

}  // namespace
}  // namespace penstock
