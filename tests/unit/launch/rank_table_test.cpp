// The table that a run begins with, and which ranks must be able to open the data.
#include "launch/program/start/rank_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "launch/program/start/data_places.h"
#include "runtime/network/stage/stage_weights.h"

namespace penstock {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Config small_config(int stages, const std::string& schedule) {
  Config config;
  config.model.kind = "transformer-lm";
  config.model.layers = 4;
  config.model.width = 16;
  config.model.heads = 2;
  config.model.context = 8;
  config.model.vocabulary = 20;
  config.pipeline.stages = stages;
  config.pipeline.schedule = schedule;
  config.pipeline.chunks = schedule == "interleaved-1f1b" ? 2 : 0;
  config.pipeline.micro_batches = 4;
  config.pipeline.micro_batch_size = 2;
  return config;
}

Blueprint drawn(const Config& config) {
  return draw_up(config, built_in_models(), config.model.vocabulary, 0);
}

RankFacts cpu_of(const std::string& host) {
  return {.host = host, .gpu = {}, .bus = {}, .mpi_takes_gpu_memory = false};
}

TEST(RankTable, SaysWhoHoldsWhatAndWhere) {
  const Blueprint blueprint = drawn(small_config(2, "1f1b"));
  const Grid grid{.positions = 2, .replicas = 2, .placement = Placement::Replicas};
  const std::vector facts = {
      cpu_of("n1"), cpu_of("n1"), cpu_of("node-2"),
      RankFacts{
          .host = "node-2", .gpu = "GPU-1", .bus = "0000:17:00", .mpi_takes_gpu_memory = false}};
  const std::vector<RankCores> cores = {
      {"n1", 8, {0, 1, 2, 3}}, {"n1", 8, {4, 6, 7}}, {"node-2", 8, {0}}, {"node-2", 8, {1}}};
  const std::vector<RankRow> rows = rank_rows(blueprint, grid, facts, cores);
  ASSERT_EQ(rows.size(), 4U);
  EXPECT_EQ(rows[1].stages, "0") << "placement replicas: the replicas of a stage are neighbours";
  EXPECT_EQ(rows[1].replica, 1);
  EXPECT_EQ(rows[2].stages, "1");
  EXPECT_EQ(rows[3].device, "gpu 0000:17:00");
  EXPECT_EQ(rows[0].parameters + rows[2].parameters, blueprint.layout.total_parameters());
  const std::string table = rank_table(rows, 16);
  EXPECT_THAT(table, HasSubstr("rank  host    device          stage  replica  layers"));
  EXPECT_THAT(table, HasSubstr("\n   1  n1      cpu                 0        1  embedding .. "));
  EXPECT_THAT(table, HasSubstr("  4, 6-7\n"));
  EXPECT_EQ(neighbours_text(grid, facts),
            "placement replicas: 0 of 2 links from stage to stage stay within a host, 2 of 2 sums "
            "over replicas");
  const Grid stages{.positions = 2, .replicas = 2};
  EXPECT_EQ(neighbours_text(stages, facts),
            "placement stages: 2 of 2 links from stage to stage stay within a host, 0 of 2 sums "
            "over replicas");
  EXPECT_THAT(neighbours_text(stages, std::vector<RankFacts>(4, cpu_of("n1"))), IsEmpty());
}

// The closing table once counted the copy of a tied table on the last rank, and this one did not.
TEST(RankTable, CountsWhatTheStagesOfEachRankKeep) {
  for (const char* schedule : {"1f1b", "interleaved-1f1b"}) {
    const bool chunked = std::string(schedule) == "interleaved-1f1b";
    Config config = small_config(chunked ? 4 : 2, schedule);
    config.model.tied_embedding = true;
    const Blueprint blueprint = drawn(config);
    std::vector<int64_t> kept(2);
    for (int stage = 0; stage < blueprint.layout.stages; ++stage) {
      const StageWeights weights(blueprint.layout.layers_of(blueprint.model, stage), {});
      const int rank = blueprint.programs.training.rank_of_stage[static_cast<size_t>(stage)];
      for (const StateEntry* entry : weights.state()) {
        if (entry->is_parameter()) kept[static_cast<size_t>(rank)] += entry->elements();
      }
    }
    const std::vector<RankRow> rows =
        rank_rows(blueprint, {.positions = 2}, std::vector<RankFacts>(2, cpu_of("n1")), {});
    EXPECT_EQ(rows[0].parameters, kept[0]) << schedule;
    EXPECT_EQ(rows[1].parameters, kept[1]) << schedule;
    const int64_t table = config.model.vocabulary * config.model.width;
    EXPECT_EQ(kept[0] + kept[1], blueprint.layout.total_parameters() + table) << schedule;
  }
}

TEST(RankTable, ARankMayHoldSeveralStages) {
  const Blueprint blueprint = drawn(small_config(4, "interleaved-1f1b"));
  const std::vector<RankRow> rows =
      rank_rows(blueprint, {.positions = 2}, std::vector<RankFacts>(2, cpu_of("n1")), {});
  EXPECT_EQ(rows[0].stages, "0, 2");
  EXPECT_EQ(rows[1].stages, "1, 3");
  EXPECT_THAT(rows[1].layers, HasSubstr(", "));
}

TEST(RankTable, OfManyTheFirstAndTheLastAreShown) {
  std::vector<RankRow> rows(100);
  for (int rank = 0; rank < 100; ++rank) rows[static_cast<size_t>(rank)].rank = rank;
  const std::string table = rank_table(rows, 16);
  EXPECT_EQ(std::count(table.begin(), table.end(), '\n'), 17) << "heading, 16 rows, what is left";
  EXPECT_THAT(table, HasSubstr("\n  11"));
  EXPECT_THAT(table, HasSubstr("84 ranks more"));
  EXPECT_THAT(table, HasSubstr("\n  96"));
  EXPECT_THAT(table, HasSubstr("\n  99"));
}

TEST(DataPlaces, AreThoseOfTheKindOfData) {
  DataConfig data;
  EXPECT_THAT(data_files(data), IsEmpty()) << "synthetic";
  data.kind = "text";
  data.train = "a.txt";
  data.validation = "0.1";
  EXPECT_THAT(data_files(data), ElementsAre("a.txt"));
  data.validation = "b.txt";
  data.vocabulary = "pieces.model";
  EXPECT_THAT(data_files(data), ElementsAre("a.txt", "b.txt", "pieces.model"));
  data = {};
  data.kind = "parallel";
  data.train = "train.{language}";
  data.pairs = {"en-de"};
  EXPECT_THAT(data_files(data), ElementsAre("train.en", "train.de"));
}

TEST(DataPlaces, AreWhereStagesReadFields) {
  const Blueprint blueprint = drawn(small_config(4, "1f1b"));
  EXPECT_TRUE(reads_data(blueprint, 0)) << "tokens";
  EXPECT_FALSE(reads_data(blueprint, 1));
  EXPECT_FALSE(reads_data(blueprint, 2));
  EXPECT_TRUE(reads_data(blueprint, 3)) << "labels";
}

}  // namespace
}  // namespace penstock
