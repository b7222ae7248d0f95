// A plan as programs read it: the keys of the contract, every candidate with the same ones.
#include "launch/program/planning/plan/plan_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace penstock {
namespace {

using OrderedJson = nlohmann::ordered_json;
using testing::ElementsAre;

// One candidate of each standing.
Plan three_standings() {
  PlannedCandidate ranked{.candidate = {.stages = 4,
                                        .replicas = 2,
                                        .chunks = 2,
                                        .micro_batches = 8,
                                        .micro_batch_size = 3,
                                        .schedule = "zb-v",
                                        .recompute = "layer",
                                        .split = {1, 2, 2, 1},
                                        .placement = "replicas"}};
  ranked.prediction.step.plain_s = 0.2;
  ranked.prediction.step.mean_s = 0.25;
  ranked.prediction.samples_per_s = 192;
  ranked.prediction.bubble = 0.125;
  ranked.prediction.exposed_communication_s = 0.5e-3;
  ranked.prediction.memory = {{.parameters = 100, .activations = 20}, {.workspace = 7}};
  const PlannedCandidate left_out{.candidate = {.stages = 8},
                                  .standing = Standing::NotSimulated,
                                  .reason = "cannot be faster than 300 ms"};
  PlannedCandidate too_large{.candidate = {.stages = 2, .split = {3, 3}},
                             .standing = Standing::Infeasible,
                             .reason = "needs 9 GiB on rank 1, 8 GiB there"};
  too_large.prediction.memory = {{.parameters = 1}, {.parameters = 9}};
  return {.parameters = int64_t{5} << 40, .candidates = {ranked, left_out, too_large}};
}

TEST(PlanJson, SaysWhatIsKnownOfTheBest) {
  const OrderedJson json = OrderedJson::parse(plan_json(three_standings(), {}));
  EXPECT_EQ(json["parameters"], int64_t{5} << 40);
  EXPECT_EQ(json["candidates"][0], OrderedJson::parse(R"({
      "stages": 4, "replicas": 2, "chunks": 2, "micro_batches": 8, "micro_batch_size": 3,
      "schedule": "zb-v", "warm_up": 0, "recompute": "layer", "placement": "replicas",
      "split": [1, 2, 2, 1],
      "feasible": true, "simulated": true, "reason": "",
      "step_ms": 250.0, "samples_per_s": 192.0, "bubble": 0.125, "exposed_communication_ms": 0.5,
      "peak_bytes": [120, 7]})"));
}

TEST(PlanJson, HasTheScheduleThatWasSearched) {
  Plan plan = three_standings();
  plan.candidates[0].candidate.csv = "F0.0,B0.0\n";
  plan.candidates[0].gap = 0.25;
  const OrderedJson json = OrderedJson::parse(plan_json(plan, {}));
  EXPECT_EQ(json["candidates"][0]["gap"], 0.25);
  EXPECT_EQ(json["candidates"][0]["csv"], "F0.0,B0.0\n");
  EXPECT_FALSE(json["candidates"][1].contains("gap"));
}

TEST(PlanJson, SaysWhatATokenMeetsAndHowLargeTheFolderIs) {
  const OrderedJson without = OrderedJson::parse(plan_json(three_standings(), {7, {}}));
  EXPECT_EQ(without["active_parameters"], 7);
  EXPECT_TRUE(without["weights_files"].is_null());
  const auto files_of = [](const FolderSize& size) {
    return OrderedJson::parse(plan_json(three_standings(), {7, size}))["weights_files"];
  };
  EXPECT_EQ(files_of({900, 2, ""}), OrderedJson::parse(R"({"bytes": 900, "files": 2})"));
  EXPECT_EQ(files_of({800, 0, "bfloat16"}),
            OrderedJson::parse(R"({"bytes": 800, "files": 0, "type": "bfloat16"})"));
}

TEST(PlanJson, SaysWithWhichLinksAndCards) {
  DescribedCluster described;
  described.ranks = 16;
  described.within_from = "usual for a100";
  described.between_from = "--link-inter";
  described.cards_from = "--cards";
  described.cluster.ranks_per_node = 8;
  described.cluster.cards = 2;
  described.cluster.within_node = {.latency = 5e-6, .seconds_per_byte = 1 / 4e9};
  described.cluster.between_nodes = {.latency = 1e-3, .seconds_per_byte = 1 / 2e9};
  const OrderedJson json = OrderedJson::parse(plan_json(three_standings(), {}, described));
  EXPECT_EQ(json["step_from"], "replay");
  const OrderedJson& cluster = json["cluster"];
  EXPECT_EQ(cluster["ranks_per_node"], 8);
  EXPECT_EQ(cluster["cards"], 2);
  EXPECT_EQ(cluster["cards_from"], "--cards");
  EXPECT_NEAR(cluster["within_node"]["gb_per_s"].get<double>(), 4, 1e-9);
  EXPECT_EQ(cluster["within_node"]["from"], "usual for a100");
  EXPECT_NEAR(cluster["between_nodes"]["latency_us"].get<double>(), 1000, 1e-9);
  EXPECT_EQ(cluster["between_nodes"]["from"], "--link-inter");
  described.cluster.ranks_per_node = 0;
  EXPECT_EQ(OrderedJson::parse(plan_json(three_standings(), {}, described))["step_from"],
            "simulation");
  EXPECT_FALSE(cluster.contains("unlike_links"));
  described.cluster.links.group_of_rank = {0, 0, 1};
  described.cluster.links.between[{0, 1}].latency = 2e-6;
  EXPECT_EQ(
      OrderedJson::parse(plan_json(three_standings(), {}, described))["cluster"]["unlike_links"],
      OrderedJson::parse(
          R"([{"ranks": [0, 1], "and": [2], "gb_per_s": null, "latency_us": 2.0}])"));
}

TEST(PlanJson, SaysWhatAuditsAndCopiesTake) {
  Plan plan = three_standings();
  plan.candidates[0].candidate.audit = 10;
  plan.candidates[0].prediction.step.audited_s = 0.7;
  const auto copies = [](const PlannedCandidate&) {
    return CopyCosts{.bytes = {3, 4}, .network_s = 0.125};
  };
  const OrderedJson candidates =
      OrderedJson::parse(plan_json(plan, {}, {}, {}, copies))["candidates"];
  EXPECT_EQ(candidates[0]["step_ms"], 250.0);
  EXPECT_EQ(candidates[0]["unaudited_step_ms"], 200.0);
  EXPECT_EQ(candidates[0]["audited_step_ms"], 700.0);
  EXPECT_EQ(candidates[0]["copy_bytes"], OrderedJson::parse("[3, 4]"));
  EXPECT_EQ(candidates[0]["copy_network_ms"], 125.0);
  EXPECT_FALSE(candidates[1].contains("copy_bytes"));
  EXPECT_FALSE(candidates[1].contains("audited_step_ms"));
}

TEST(PlanJson, TellsStagesThatRecomputeNothing) {
  Plan plan = three_standings();
  plan.candidates[0].candidate.kept_stages = {1, 2};
  const OrderedJson candidates = OrderedJson::parse(plan_json(plan, {}))["candidates"];
  EXPECT_EQ(candidates[0]["kept_stages"], OrderedJson::parse("[1, 2]"));
  EXPECT_FALSE(candidates[1].contains("kept_stages"));
}

TEST(PlanJson, EveryCandidateHasTheKeysOfTheContract) {
  const OrderedJson json = OrderedJson::parse(plan_json(three_standings(), {}));
  ASSERT_EQ(json["candidates"].size(), 3U);
  for (const OrderedJson& candidate : json["candidates"]) {
    std::vector<std::string> keys;
    for (const auto& [key, value] : candidate.items()) keys.push_back(key);
    EXPECT_THAT(keys,
                ElementsAre("stages", "replicas", "chunks", "micro_batches", "micro_batch_size",
                            "schedule", "warm_up", "recompute", "placement", "split", "feasible",
                            "simulated", "reason", "step_ms", "samples_per_s", "bubble",
                            "exposed_communication_ms", "peak_bytes"));
    EXPECT_TRUE(candidate["feasible"].is_boolean()) << candidate;
    EXPECT_TRUE(candidate["simulated"].is_boolean()) << candidate;
    EXPECT_EQ(candidate["feasible"].get<bool>(), candidate["reason"].get<std::string>().empty())
        << candidate;
  }
}

// What was not simulated has no times, and nobody knows that it fits.
TEST(PlanJson, UnknownTimesAreNull) {
  const OrderedJson candidates = OrderedJson::parse(plan_json(three_standings(), {}))["candidates"];
  for (size_t i : {1U, 2U}) {
    EXPECT_FALSE(candidates[i]["feasible"]);
    EXPECT_FALSE(candidates[i]["simulated"]);
    for (const char* time : {"step_ms", "samples_per_s", "bubble", "exposed_communication_ms"}) {
      EXPECT_TRUE(candidates[i][time].is_null()) << time;
    }
  }
  EXPECT_EQ(candidates[1]["reason"], "cannot be faster than 300 ms");
  EXPECT_EQ(candidates[1]["split"], OrderedJson::array());
  EXPECT_EQ(candidates[1]["peak_bytes"], OrderedJson::array());
  EXPECT_EQ(candidates[2]["reason"], "needs 9 GiB on rank 1, 8 GiB there");
  EXPECT_EQ(candidates[2]["peak_bytes"], OrderedJson::parse("[1, 9]"));
}

}  // namespace
}  // namespace penstock
