// The contract of metrics.jsonl and summary.json: keys, floats to the bit, valid JSON always.
#include "runtime/records/telemetry/json_records.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

namespace penstock {
namespace {

using nlohmann::json;

// Same bits, which == on doubles does not tell (-0.0).
bool same_bits(double a, double b) {
  return std::bit_cast<uint64_t>(a) == std::bit_cast<uint64_t>(b);
}

StepRecord example() {
  StepRecord record;
  record.step = 7;
  record.loss = 2.3025850929940455;
  record.grad_norm = 0.1;
  record.learning_rate = 1e-3;
  record.samples = 48;
  record.tokens = 3072;
  record.loss_tokens = 1024;
  record.step_ms = 12.5;
  return record;
}

TEST(StepLine, HasTheKeysOfTheContract) {
  const std::string line = json_line(example(), true);
  EXPECT_EQ(line.find('\n'), std::string::npos);
  const json read = json::parse(line);
  for (const char* key : {"step", "loss", "grad_norm", "learning_rate", "samples", "tokens",
                          "step_ms", "data_wait_ms", "throughput", "loss_tokens", "tokens_per_s"}) {
    EXPECT_TRUE(read.contains(key)) << key;
  }
  EXPECT_EQ(read["step"], 7);
  EXPECT_EQ(read["throughput"], 48 / 0.0125);
  EXPECT_EQ(read["tokens_per_s"], 3072 / 0.0125);
  EXPECT_FALSE(read.contains("accuracy"));
  EXPECT_FALSE(json::parse(json_line(example(), false)).contains("tokens_per_s"));
}

TEST(StepLine, WritesAccuracyWhereThereIsOne) {
  StepRecord record = example();
  record.accuracy = 0.25;
  EXPECT_EQ(json::parse(json_line(record, false))["accuracy"], 0.25);
}

TEST(StepLine, WritesTheSpeedWhereItIsKnown) {
  StepRecord record = example();
  EXPECT_FALSE(json::parse(json_line(record, false)).contains("tflops"));
  EXPECT_FALSE(json::parse(json_line(record, false)).contains("mfu"));
  record.speed = Speed{.tflops = 412.5, .mfu = 0.417, .peak_tflops = 989.4};
  const json read = json::parse(json_line(record, false));
  EXPECT_EQ(read["tflops"], 412.5);
  EXPECT_EQ(read["mfu"], 0.417);
  EXPECT_EQ(read["peak_tflops"], 989.4);
}

TEST(StepLine, WritesTheLossOfAnAuxiliaryHeadApart) {
  EXPECT_FALSE(json::parse(json_line(example(), false)).contains("auxiliary_loss"));
  StepRecord record = example();
  record.auxiliary_loss = 1.5;
  const json read = json::parse(json_line(record, false));
  EXPECT_EQ(read["auxiliary_loss"], 1.5);
  EXPECT_EQ(read["loss"], example().loss);
}

TEST(StepLine, FloatsReadBackToTheSameBits) {
  uint64_t bits = 0x9E3779B97F4A7C15;
  for (int i = 0; i < 2000; ++i) {
    bits = bits * 6364136223846793005ULL + 1442695040888963407ULL;
    StepRecord record = example();
    record.loss = std::bit_cast<double>(bits);
    if (!std::isfinite(record.loss)) continue;
    const json read = json::parse(json_line(record, false));
    ASSERT_TRUE(same_bits(read["loss"].get<double>(), record.loss)) << record.loss;
  }
  for (const double loss : {0.0, -0.0, 5e-324, std::numeric_limits<double>::max(), 1.0}) {
    StepRecord record = example();
    record.loss = loss;
    const json read = json::parse(json_line(record, false));
    EXPECT_TRUE(same_bits(read["loss"].get<double>(), loss)) << loss;
  }
}

TEST(StepLine, WhatIsNoNumberIsNull) {
  StepRecord record = example();
  record.loss = std::numeric_limits<double>::quiet_NaN();
  record.grad_norm = std::numeric_limits<double>::infinity();
  record.step_ms = 0.0;
  const json read = json::parse(json_line(record, true));
  EXPECT_TRUE(read["loss"].is_null());
  EXPECT_TRUE(read["grad_norm"].is_null());
  EXPECT_TRUE(read["throughput"].is_null());
}

TEST(StepLine, HasTheEpochWhereTheRunIsGivenInEpochs) {
  StepRecord record = example();
  EXPECT_FALSE(json::parse(json_line(record, true)).contains("epoch"));
  record.epoch = EpochRecord{.done = 1.25, .of = 3};
  EXPECT_EQ(json::parse(json_line(record, true))["epoch"], 1.25);
  RunSummary summary;
  EXPECT_FALSE(json::parse(json_text(summary)).contains("epochs"));
  summary.epoch = record.epoch;
  EXPECT_EQ(json::parse(json_text(summary))["epoch"], 1.25);
  EXPECT_EQ(json::parse(json_text(summary))["epochs"], 3);
}

TEST(StepLine, HasTheLoadOfEachMixtureAndTheRowsWhereTheyAreAskedFor) {
  StepRecord record = example();
  EXPECT_FALSE(json::parse(json_line(record, true, true)).contains("experts"));
  record.experts = {{.layer = "blocks.0.experts", .rows = {3, 0, 3}},
                    {.layer = "blocks.2.experts", .rows = {2, 2, 2}}};
  const json read = json::parse(json_line(record, true));
  EXPECT_EQ(read["experts"],
            json::parse(R"([{"layer":"blocks.0.experts","largest":1.5,"least":0.0,"idle":1},
                            {"layer":"blocks.2.experts","largest":1.0,"least":1.0,"idle":0}])"));
  const json all = json::parse(json_line(record, true, true));
  EXPECT_EQ(all["experts"][0]["rows"], json::parse("[3, 0, 3]"));
}

TEST(Summary, HasWhatTheLoadsCameTo) {
  RunSummary summary;
  EXPECT_FALSE(json::parse(json_text(summary)).contains("experts"));
  const std::vector<ExpertLoad> loads = {{.layer = "blocks.0.experts", .rows = {3, 0, 3}}};
  add_loads(summary.experts, 4, loads);
  EXPECT_EQ(json::parse(json_text(summary))["experts"],
            json::parse(R"([{"layer": "blocks.0.experts", "largest": 1.5, "least": 0.0, "idle": 1,
                             "rows": [3, 0, 3], "largest_mean": 1.5, "largest_of_all": 1.5,
                             "at_step": 4}])"));
}

TEST(EvalLine, IsMarked) {
  EvalRecord record;
  record.step = 100;
  record.loss = 1.5;
  record.accuracy = 0.5;
  record.samples = 10;
  const json read = json::parse(json_line(record));
  EXPECT_EQ(read["eval"], true);
  EXPECT_EQ(read["step"], 100);
  EXPECT_EQ(read["loss"], 1.5);
  EXPECT_EQ(read["accuracy"], 0.5);
  EXPECT_EQ(read["samples"], 10);
  EXPECT_FALSE(read.contains("best"));
  record.best = true;
  EXPECT_EQ(json::parse(json_line(record))["best"], true);
}

TEST(Summary, HasTheKeysOfTheContract) {
  RunSummary summary;
  summary.bubble_measured = 0.25;
  summary.step_ms_p95 = 9.0;
  RankRecord rank;
  rank.stage = 3;
  rank.host = "a \xFF name";  // not UTF-8
  for (int p = 0; p < kPurposes; ++p) rank.memory.peak[p] = 100 + p;
  rank.memory.total_peak = 555;
  summary.ranks_detail = {rank};
  const json read = json::parse(json_text(summary));
  for (const char* key : {"ranks", "stages", "replicas", "micro_batches", "micro_batch_size",
                          "schedule", "recompute", "device", "parameters", "steps", "final_loss",
                          "samples_per_s", "bubble", "step_ms", "ranks_detail"}) {
    EXPECT_TRUE(read.contains(key)) << key;
  }
  EXPECT_EQ(read["bubble"]["measured"], 0.25);
  EXPECT_TRUE(read["bubble"].contains("predicted"));
  EXPECT_TRUE(read["step_ms"].contains("median"));
  EXPECT_EQ(read["step_ms"]["p95"], 9.0);
  const json& detail = read["ranks_detail"].at(0);
  EXPECT_EQ(detail["stage"], 3);
  for (const char* key : {"rank", "stage", "replica", "parameters", "busy_fraction"}) {
    EXPECT_TRUE(detail.contains(key)) << key;
  }
  const json expected = {{"parameters", 100},  {"gradients", 101}, {"optimizer", 102},
                         {"activations", 103}, {"workspace", 104}, {"communication", 105},
                         {"total", 555}};
  EXPECT_EQ(detail["peak_bytes"], expected);
  EXPECT_FALSE(read.contains("tokens_per_s"));
  EXPECT_FALSE(read.contains("tflops"));
  EXPECT_FALSE(read.contains("final_eval"));
}

TEST(Summary, TellsAWarmUpThatIsNotTheSchedulesOwn) {
  RunSummary summary;
  EXPECT_FALSE(json::parse(json_text(summary)).contains("warm_up"));
  summary.warm_up = 3;
  EXPECT_EQ(json::parse(json_text(summary))["warm_up"], 3);
}

TEST(Summary, TellsStagesThatRecomputeNothing) {
  RunSummary summary;
  EXPECT_FALSE(json::parse(json_text(summary)).contains("kept_stages"));
  summary.kept_stages = {0, 2};
  EXPECT_EQ(json::parse(json_text(summary))["kept_stages"], json({0, 2}));
}

TEST(Summary, TellsTheBestAndWhyItEndedEarly) {
  RunSummary summary;
  EXPECT_FALSE(json::parse(json_text(summary)).contains("best"));
  EXPECT_FALSE(json::parse(json_text(summary)).contains("ended_early"));
  summary.best = BestRecord{.metric = "loss", .step = 20, .value = 1.5};
  summary.ended_early = "no better loss";
  const json expected = {{"metric", "loss"}, {"step", 20}, {"value", 1.5}};
  EXPECT_EQ(json::parse(json_text(summary))["best"], expected);
  EXPECT_EQ(json::parse(json_text(summary))["ended_early"], "no better loss");
}

TEST(Summary, WritesTheSpeedWhereItIsKnown) {
  RunSummary summary;
  summary.speed =
      Speed{.tflops = 0.125, .mfu = 0.25, .peak_tflops = 0.5, .peak_from = "run.peak_tflops"};
  const json read = json::parse(json_text(summary));
  EXPECT_EQ(read["tflops"], 0.125);
  EXPECT_EQ(read["mfu"], 0.25);
  EXPECT_EQ(read["peak_tflops"], 0.5);
  EXPECT_EQ(read["peak_from"], "run.peak_tflops");
}

TEST(Summary, TellsWhatTheRunStartedFrom) {
  RunSummary summary;
  EXPECT_FALSE(json::parse(json_text(summary)).contains("init"));
  EXPECT_EQ(json::parse(json_text(summary))["frozen_parameters"], 0);
  summary.frozen_parameters = 12;
  summary.init = TransferRecord{.checkpoint = "runs/a/checkpoints/step-00000002",
                                .loaded = {"a", "b"},
                                .skipped = {"c"},
                                .missing = {},
                                .unused = {"d", "e"}};
  const json read = json::parse(json_text(summary));
  EXPECT_EQ(read["frozen_parameters"], 12);
  const json expected = {{"checkpoint", "runs/a/checkpoints/step-00000002"},
                         {"loaded", 2},
                         {"skipped", {"c"}},
                         {"missing", json::array()},
                         {"unused", {"d", "e"}}};
  EXPECT_EQ(read["init"], expected);
}

}  // namespace
}  // namespace penstock
