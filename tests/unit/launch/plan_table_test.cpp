// A plan as people read it: columns that stand, and reasons told once each.
#include "launch/program/planning/plan/plan_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

namespace penstock {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

PlannedCandidate ranked(const Arrangement& candidate, double step_s) {
  PlannedCandidate planned{.candidate = candidate};
  planned.prediction.step.mean_s = step_s;
  planned.prediction.samples_per_s = 64 / step_s;
  planned.prediction.bubble = 0.25;
  planned.prediction.memory = {{.parameters = 3 << 20}, {.parameters = 5 << 20}};
  return planned;
}

PlannedCandidate infeasible(const std::string& reason, int64_t bytes) {
  PlannedCandidate planned{.candidate = {}, .standing = Standing::Infeasible, .reason = reason};
  if (bytes > 0) planned.prediction.memory = {{.parameters = bytes}};
  return planned;
}

PlannedCandidate left_out(const std::string& reason) {
  return {.candidate = {}, .standing = Standing::NotSimulated, .reason = reason};
}

// Short and long entries in every column.
Plan short_and_long() {
  return {.parameters = 1,
          .candidates = {ranked({.schedule = "1f1b", .recompute = "none", .split = {9}}, 1e-6),
                         ranked({.stages = 1024,
                                 .replicas = 16,
                                 .chunks = 4,
                                 .micro_batches = 4096,
                                 .micro_batch_size = 128,
                                 .schedule = "interleaved-1f1b",
                                 .recompute = "layer",
                                 .split = std::vector<int>(1024, 9),
                                 .placement = "replicas"},
                                123456.7)}};
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

TEST(PlanTable, ColumnsStandUnderTheirHeads) {
  const auto lines = lines_of(plan_table(short_and_long(), 20));
  ASSERT_EQ(lines.size(), 3U);
  const auto end_of = [](const std::string& line, const std::string& words) {
    const size_t at = line.find(words);
    return at == std::string::npos ? at : at + words.size();
  };
  EXPECT_EQ(lines[1].find("1f1b"), lines[0].find("schedule"));
  EXPECT_EQ(lines[2].find("interleaved-1f1b (4 a rank)"), lines[0].find("schedule"));
  EXPECT_EQ(lines[1].find("none"), lines[0].find("recomp"));
  EXPECT_EQ(lines[2].find("layer"), lines[0].find("recomp"));
  EXPECT_EQ(lines[1].find("stages"), lines[0].find("placement"));
  EXPECT_EQ(lines[2].find("replicas"), lines[0].find("placement"));
  EXPECT_EQ(end_of(lines[1], "1x1"), end_of(lines[0], "K x D"));
  EXPECT_EQ(end_of(lines[2], "1024x16"), end_of(lines[0], "K x D"));
  EXPECT_EQ(end_of(lines[2], "4096x128"), end_of(lines[0], "M x b"));
  EXPECT_EQ(end_of(lines[1], " 0.001"), end_of(lines[0], "step ms"));
  EXPECT_EQ(end_of(lines[2], "1.235e+08"), end_of(lines[0], "step ms"));
  EXPECT_EQ(end_of(lines[1], "25.0"), end_of(lines[0], "bubble%"));
  EXPECT_EQ(end_of(lines[2], "5.00 MiB"), end_of(lines[0], "memory"));
  EXPECT_EQ(lines[1].rfind('9'), lines[0].find("layers per stage"));
  EXPECT_EQ(lines[2].find("1024x9"), lines[0].find("layers per stage"));
}

TEST(PlanTable, ListsTheFastestOnly) {
  const auto lines = lines_of(plan_table(short_and_long(), 1));
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_THAT(lines[1], StartsWith("   1  "));
  EXPECT_THAT(lines[1], HasSubstr("1f1b"));
}

TEST(PlanTable, SaysHowFarASearchedScheduleIsFromTheBest) {
  Plan plan = short_and_long();
  plan.candidates[1].gap = 0.25;
  const auto lines = lines_of(plan_table(plan, 2));
  ASSERT_EQ(lines.size(), 4U);
  EXPECT_EQ(lines[3],
            "   2  searched: no order of its passes and messages takes over 20.00 % less");
  plan.candidates[1].gap = 1e-9;
  EXPECT_EQ(lines_of(plan_table(plan, 2))[3],
            "   2  searched: no order of its passes and messages takes less");
}

TEST(PlanTable, RecommendsTheFastestByItsOptions) {
  Cluster cluster;
  Plan plan = short_and_long();
  EXPECT_THAT(recommendation(plan, cluster, 1), HasSubstr("step ms: of a simulated step\n"));
  EXPECT_THAT(recommendation(plan, cluster, 1),
              HasSubstr("the fastest by the simulation: --stages 1 --replicas 1 "));
  cluster.ranks_per_node = 8;
  plan.candidates.erase(plan.candidates.begin());
  plan.candidates[0].candidate.split = {4, 5};
  const std::string text = recommendation(plan, cluster, 4096);
  EXPECT_THAT(text, HasSubstr("of a step replayed on all 4096 ranks, 1 network card a node, shared "
                              "by its 8 ranks\n"));
  EXPECT_THAT(text, HasSubstr("the fastest by the replay: --stages 1024 --replicas 16 "
                              "--micro-batches 4096 --micro-batch-size 128 "
                              "--schedule interleaved-1f1b --pipeline.chunks 4 "
                              "--recompute layer --placement replicas --split 4,5\n"));
  cluster.cards = 8;
  EXPECT_THAT(recommendation(plan, cluster, 4096), HasSubstr("8 network cards a node, one a rank"));
  EXPECT_EQ(recommendation({}, cluster, 4096), "");
}

TEST(PlanTable, TellsEveryReasonOnce) {
  Plan plan = short_and_long();
  plan.candidates.push_back(left_out("cannot be faster than 300 ms"));
  plan.candidates.push_back(left_out("cannot be faster than 400 ms"));
  plan.candidates.push_back(left_out("a step has about 5000000 instructions"));
  plan.candidates.push_back(left_out("a step has about 6000000 instructions"));
  plan.candidates.push_back(infeasible("needs 9 GiB on rank 0, 8 GiB there", int64_t{9} << 30));
  plan.candidates.push_back(infeasible("needs 8.5 GiB on rank 0, 8 GiB there", int64_t{8} << 30));
  plan.candidates.push_back(infeasible("more stages than layers: the network has 7", 0));
  const std::string table = plan_table(plan, 20);
  EXPECT_THAT(table, HasSubstr("     2 x not simulated: cannot be among the fastest\n"));
  EXPECT_THAT(table, HasSubstr("     2 x not simulated: too many instructions\n"));
  EXPECT_THAT(table, HasSubstr("     2 x not enough memory\n         the nearest: "));
  EXPECT_THAT(table, HasSubstr("recompute stage needs 8.5 GiB on rank 0, 8 GiB there\n"));
  EXPECT_THAT(table, Not(HasSubstr("needs 9 GiB")));
  EXPECT_THAT(table, HasSubstr("     1 x more stages than layers: the network has 7\n"));
}

TEST(PlanTable, SaysWhenNothingFits) {
  const Plan plan{.parameters = 1,
                  .candidates = {infeasible("needs 9 GiB on rank 0, 8 GiB there", 9)}};
  EXPECT_THAT(plan_table(plan, 20), StartsWith("nothing fits\n     1 x not enough memory\n"));
  EXPECT_THAT(plan_table(plan, 20), HasSubstr("needs 9 GiB on rank 0, 8 GiB there"));
}

TEST(PlanTable, ShortensEqualNeighbours) {
  EXPECT_EQ(short_split({4, 6, 6, 6, 4}), "4 3x6 4");
  EXPECT_EQ(short_split({1}), "1");
  EXPECT_EQ(short_split({}), "");
}

}  // namespace
}  // namespace penstock
