// Routes: every tensor that a stage gives arrives at its own place in what another stage takes,
// with skips that cross one another, begin together and end together.
#include "runtime/engine/pipeline/links/routes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

namespace penstock {
namespace {

using testing::ElementsAre;

Schedule stages_with(int stages, const std::vector<SkipRoute>& skips) {
  Schedule schedule;
  schedule.ranks = schedule.stages = stages;
  schedule.micro_batches = 1;
  for (const SkipRoute& skip : skips) {
    const bool known = std::ranges::any_of(schedule.skips, [&](const Skip& one) {
      return one.from == skip.from && one.to == skip.to;
    });
    if (skip.to > skip.from + 1 && !known) schedule.skips.push_back({skip.from, skip.to});
  }
  return schedule;
}

// A tensor that no other is like.
TensorSpec spec(int64_t number) {
  return {Shape{number, 7}, DType::F32};
}

TEST(Routes, AChainIsHandedOnAsItIs) {
  const Traffic traffic{
      .boundaries = {{spec(1)}, {spec(2), spec(3)}}, .skips = {}, .first_trained = 0};
  const std::vector<Route> routes = make_routes(Edges(stages_with(2, {})), traffic);
  ASSERT_EQ(routes.size(), 1U);
  EXPECT_EQ(routes[0].from, 0);
  EXPECT_EQ(routes[0].to, 1);
  EXPECT_THAT(routes[0].tensors, ElementsAre(spec(2), spec(3)));
  EXPECT_THAT(routes[0].given, ElementsAre(0, 1));
  EXPECT_THAT(routes[0].taken, ElementsAre(0, 1));
}

// 0 stashes a and b; 2 pops a, 1 pops b: a travels alone, b with the chain.
TEST(Routes, SkipsGoTheirOwnWay) {
  const std::vector<SkipRoute> skips = {{0, 2, 20, spec(100)}, {0, 1, 10, spec(101)}};
  const Traffic traffic{
      .boundaries = {{spec(1)}, {spec(2)}, {spec(3)}}, .skips = skips, .first_trained = 0};
  const Edges edges(stages_with(3, skips));
  const std::vector<Route> routes = make_routes(edges, traffic);
  ASSERT_EQ(routes.size(), 3U);
  EXPECT_THAT(routes[0].tensors, ElementsAre(spec(2), spec(101)));
  EXPECT_THAT(routes[0].given, ElementsAre(0, 2)) << "b was stashed second";
  EXPECT_THAT(routes[0].taken, ElementsAre(0, 1));
  EXPECT_THAT(routes[1].tensors, ElementsAre(spec(3)));
  EXPECT_EQ(routes[2].to, 2);
  EXPECT_THAT(routes[2].tensors, ElementsAre(spec(100)));
  EXPECT_THAT(routes[2].given, ElementsAre(1));
  EXPECT_THAT(routes[2].taken, ElementsAre(1));
}

// The inner skip is popped first, though it was stashed last.
TEST(Routes, SkipsOfOnePairOfStagesKeepTheirPlaces) {
  const std::vector<SkipRoute> skips = {{0, 1, 9, spec(100)}, {0, 1, 8, spec(101)}};
  const Traffic traffic{.boundaries = {{spec(1)}, {spec(2)}}, .skips = skips, .first_trained = 0};
  const std::vector<Route> routes = make_routes(Edges(stages_with(2, skips)), traffic);
  EXPECT_THAT(routes[0].given, ElementsAre(0, 1, 2));
  EXPECT_THAT(routes[0].taken, ElementsAre(0, 2, 1));
}

TEST(Routes, ToStagesThatTrainNothingBringNoGradients) {
  const Traffic traffic{.boundaries = {{spec(1)}, {spec(2)}, {spec(3)}, {spec(4)}},
                        .skips = {{0, 2, 9, spec(100)}},
                        .first_trained = 2};
  const std::vector<Route> routes = make_routes(Edges(stages_with(4, traffic.skips)), traffic);
  ASSERT_EQ(routes.size(), 4U);
  EXPECT_FALSE(routes[0].differentiated);
  EXPECT_FALSE(routes[1].differentiated) << "stage 2 trains, stage 1 does not";
  EXPECT_TRUE(routes[2].differentiated);
  EXPECT_FALSE(routes[3].differentiated) << "a skip that begins in stage 0";
}

// Random networks of skips: what is given and what is taken are filled once and nothing twice.
TEST(Routes, FillEveryPlaceOnce) {
  std::mt19937 random(5);
  const auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  for (int round = 0; round < 200; ++round) {
    const int stages = 2 + below(6);
    Traffic traffic;
    for (int s = 0; s < stages; ++s) {
      auto& boundary = traffic.boundaries.emplace_back();
      for (int i = 0; i <= below(3); ++i) boundary.push_back(spec(1 + 10 * s + i));
    }
    std::vector<size_t> stashed(static_cast<size_t>(stages)), popped(stashed);
    std::vector<size_t> pop_layers(12);
    for (size_t i = 0; i < pop_layers.size(); ++i) pop_layers[i] = i;
    std::shuffle(pop_layers.begin(), pop_layers.end(), random);
    for (int i = 0; i < below(8); ++i) {
      const int from = below(stages - 1);
      const int to = from + 1 + below(stages - 1 - from);
      traffic.skips.push_back({from, to, pop_layers[static_cast<size_t>(i)], spec(1000 + i)});
      ++stashed[static_cast<size_t>(from)];
      ++popped[static_cast<size_t>(to)];
    }
    std::ranges::stable_sort(traffic.skips, {}, &SkipRoute::from);  // in the order of stashes
    std::vector<std::vector<size_t>> given(static_cast<size_t>(stages)), taken(given);
    for (const Route& route : make_routes(Edges(stages_with(stages, traffic.skips)), traffic)) {
      auto& from = given[static_cast<size_t>(route.from)];
      auto& to = taken[static_cast<size_t>(route.to)];
      from.insert(from.end(), route.given.begin(), route.given.end());
      to.insert(to.end(), route.taken.begin(), route.taken.end());
    }
    for (size_t s = 0; s < given.size(); ++s) {
      const size_t out = s + 1 < given.size() ? traffic.boundaries[s + 1].size() : 0;
      const size_t in = s > 0 ? traffic.boundaries[s].size() : 0;
      std::vector<size_t> outputs(out + stashed[s]), inputs(in + popped[s]);
      for (size_t i = 0; i < outputs.size(); ++i) outputs[i] = i;
      for (size_t i = 0; i < inputs.size(); ++i) inputs[i] = i;
      EXPECT_THAT(given[s], testing::UnorderedElementsAreArray(outputs));
      EXPECT_THAT(taken[s], testing::UnorderedElementsAreArray(inputs));
    }
  }
}

}  // namespace
}  // namespace penstock
