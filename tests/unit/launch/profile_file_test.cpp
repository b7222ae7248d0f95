// A profile goes through its file unchanged; a bad file is refused by name and key.
#include "launch/program/planning/files/profile_file.h"

#include <nlohmann/json.hpp>

#include "launch/program/planning/profile_table.h"
#include "tests/unit/launch/helpers.h"

namespace penstock {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

LayerCost layer(const std::string& name) {
  LayerCost cost;
  cost.name = name;
  cost.kind = "block";
  cost.parameters = 1000;
  cost.forward_s = 0.1 + 0.2;  // a number that few digits do not hold
  cost.backward_input_s = 2e-3;
  cost.backward_weight_s = 3e-3;
  cost.backward_s = 5e-3;
  cost.update_s = 1e-3;
  cost.forward_flops = 1e9;
  cost.input_bytes = 64;
  cost.output_bytes = 128;
  cost.tape_bytes = int64_t{5} << 40;
  cost.shared_input_bytes = 1;
  cost.weight_half_bytes = 2;
  cost.forward_peak_bytes = 3;
  cost.record_peak_bytes = 4;
  cost.backward_peak_bytes = 5;
  cost.backward_input_peak_bytes = 6;
  cost.parameter_bytes = 7;
  cost.gradient_bytes = 8;
  cost.optimizer_bytes = 9;
  cost.workspace_bytes = 10;
  return cost;
}

Profile profile() {
  Profile all;
  all.costs.device = "a machine";
  all.costs.micro_batch_size = 4;
  all.costs.layers = {layer("first"), layer("blocks.0"), layer("blocks.1")};
  all.costs.layers[0].kind = "embedding";
  all.costs.skips = {{0, 2, 4096}};
  all.within_node = {
      .latency = 1e-6, .seconds_per_byte = 1e-10, .overhead = 2e-6, .receiver_copies = true};
  all.between_nodes = {.latency = 2e-6, .seconds_per_byte = 1e-9, .overhead = 3e-6};
  all.threads = 2;
  all.precision = "bf16";
  return all;
}

TEST(ProfileFile, SaysWhereItIsOfAnotherDevice) {
  Profile measured = profile();
  measured.costs.device = "cpu (avx512_core_bf16, 2 threads)";
  EXPECT_EQ(other_device_text(measured, "p.json", "cpu (avx512_core_bf16, 2 threads)"), "");
  EXPECT_THAT(other_device_text(measured, "p.json", "cpu (avx512_core_bf16, 4 threads)"),
              AllOf(HasSubstr("p.json was measured on cpu (avx512_core_bf16, 2 threads)"),
                    HasSubstr("this run has cpu (avx512_core_bf16, 4 threads)")));
  EXPECT_NE(other_device_text(measured, "p.json", "cuda:0 (H200)"), "");
  measured.costs.device = "cuda:3 (H200)";
  EXPECT_EQ(other_device_text(measured, "p.json", "cuda:0 (H200)"), "");
  EXPECT_NE(other_device_text(measured, "p.json", "cuda:3 (H100)"), "");
}

TEST(ProfileFile, ReadsBackWhatWasWritten) {
  const TemporaryFolder folder;
  const std::string text = profile_text(profile());
  const Profile read = read_profile(folder.write("profile.json", text));
  EXPECT_EQ(profile_text(read), text);
  EXPECT_EQ(read.costs.layers[1].forward_s, 0.1 + 0.2);
  EXPECT_EQ(read.costs.layers[2].tape_bytes, int64_t{5} << 40);
  EXPECT_EQ(read.costs.layers[2].name, "blocks.1");
  EXPECT_TRUE(read.within_node.receiver_copies);
  EXPECT_EQ(read.between_nodes.overhead, 3e-6);
  EXPECT_EQ(read.threads, 2);
  EXPECT_EQ(read.precision, "bf16");
}

// No two figures of a layer share a name, and none is left out; which fields it reads is counted.
TEST(ProfileFile, KeepsEveryFigureOfALayerApart) {
  const auto json = nlohmann::json::parse(profile_text(profile()));
  // What is counted for a run: the fields that are read, a flag with its padding, two sizes of
  // updates, and two of checkpoints.
  constexpr size_t kOfARun =
      sizeof(LayerCost::reads) + alignof(LayerCost) + sizeof(LayerCost::whole_bytes) +
      sizeof(LayerCost::update_scratch_bytes) + sizeof(LayerCost::saved_weight_bytes) +
      sizeof(LayerCost::saved_state_bytes);
  EXPECT_EQ(json["layers"][0].size() * sizeof(double),
            sizeof(LayerCost) - kOfARun - 2 * sizeof(std::string) + 2 * sizeof(double));
  EXPECT_EQ(json["layers"][0]["shared_input_bytes"], 1);
  EXPECT_EQ(json["layers"][0]["workspace_bytes"], 10);
}

TEST(ProfileFile, IsForItsOwnPrecision) {
  EXPECT_NO_THROW(check_precision(profile(), "p.json", "bf16"));
  EXPECT_THAT(input_error([&] { check_precision(profile(), "p.json", "fp32"); }),
              AllOf(HasSubstr("p.json was measured in bf16"), HasSubstr("in fp32")));
}

TEST(ProfileFile, RefusesBadFilesByNameAndKey) {
  const TemporaryFolder folder;
  const auto refusal = [&](const std::string& text) {
    return input_error([&] { (void)read_profile(folder.write("p.json", text)); });
  };
  const auto changed = [&](const std::function<void(nlohmann::json&)>& change) {
    auto json = nlohmann::json::parse(profile_text(profile()));
    change(json);
    return refusal(json.dump());
  };
  EXPECT_THAT(input_error([&] { (void)read_profile(folder / "absent.json"); }),
              HasSubstr("absent.json"));
  EXPECT_THAT(refusal("{\"version\": 1,"),
              AllOf(HasSubstr("p.json"), HasSubstr("bad JSON"), HasSubstr("line 1")));
  EXPECT_THAT(refusal("[1]"), HasSubstr("not a JSON object"));
  EXPECT_THAT(changed([](auto& json) { json["version"] = 3; }),
              AllOf(HasSubstr("p.json: 'version' is not 2"), HasSubstr("penstock profile")));
  EXPECT_THAT(changed([](auto& json) { json.erase("device"); }), HasSubstr("'device' is missing"));
  EXPECT_THAT(changed([](auto& json) { json["layers"][2].erase("forward_s"); }),
              HasSubstr("'layers'[2] 'forward_s' is missing"));
  EXPECT_THAT(changed([](auto& json) { json["layers"][1]["tape_bytes"] = "many"; }),
              HasSubstr("'layers'[1] 'tape_bytes' is no integer"));
  EXPECT_THAT(changed([](auto& json) { json["layers"][1]["update_s"] = -1; }),
              HasSubstr("'update_s' is below 0"));
  EXPECT_THAT(changed([](auto& json) { json["links"]["within_node"]["latency_s"] = true; }),
              HasSubstr("'links' 'within_node' 'latency_s' is no number"));
  EXPECT_THAT(changed([](auto& json) { json["micro_batch_size"] = 0; }),
              HasSubstr("'micro_batch_size' is below 1"));
  // Sums of these left 64 bits; of 2^32 threads none was left.
  EXPECT_THAT(changed([](auto& json) { json["layers"][1]["tape_bytes"] = INT64_MAX; }),
              HasSubstr("'layers'[1] 'tape_bytes' is too large"));
  EXPECT_THAT(changed([](auto& json) { json["layers"][1]["forward_s"] = 1e300; }),
              HasSubstr("'forward_s' is too large"));
  EXPECT_THAT(changed([](auto& json) { json["threads"] = int64_t{1} << 32; }),
              HasSubstr("'threads' is too large"));
  EXPECT_THAT(refusal("{\"version\": 2, \"version\": 2}"), HasSubstr("twice"));
  EXPECT_THAT(refusal("{\"a\":" + std::string(100000, '[')), HasSubstr("nested"));
  EXPECT_THAT(changed([](auto& json) { json["skips"][0]["to_layer"] = 3; }),
              HasSubstr("'skips'[0] the skip leads to no later layer"));
  EXPECT_THAT(changed([](auto& json) { json["skips"][0]["from_layer"] = 2; }),
              HasSubstr("leads to no later layer"));
}

TEST(ProfileFile, TableKeepsEqualLayersTogether) {
  const std::string table = profile_table(profile());
  EXPECT_THAT(table, HasSubstr("blocks.0 .. blocks.1 (2)"));
  EXPECT_THAT(table, HasSubstr("2 threads, bf16, micro-batches of 4"));
  EXPECT_THAT(table, HasSubstr("600.000"));  // forwards of both
  EXPECT_THAT(table, HasSubstr("10.00 GB/s"));
  EXPECT_THAT(table, HasSubstr("between hosts"));
  Profile alone = profile();
  alone.between_nodes = {};
  EXPECT_THAT(profile_table(alone), Not(HasSubstr("between hosts")));
}

// Four links of stages, one of them across hosts, and one of replicas.
TEST(ProfileFile, ShowsEveryKindOfLinkWithItsSlowest) {
  Profile with_links = profile();
  with_links.link_bytes = {64, 1024};
  with_links.links = {{0, 1, false, true, {1e-6, 2e-6}},
                      {1, 2, false, true, {3e-6, 8e-6}},
                      {3, 4, false, true, {2e-6, 4e-6}},
                      {2, 3, false, false, {9e-6, 20e-6}},
                      {0, 4, true, false, {10e-6, 30e-6}}};
  const std::string table = profile_table(with_links);
  EXPECT_THAT(table, HasSubstr("3 links between neighbouring stages, within a host; the slowest "
                               "joins ranks 1 and 2\n"));
  EXPECT_THAT(table, HasSubstr("1.00 KiB         2.0        4.0        8.0     0.256\n"));
  EXPECT_THAT(table, HasSubstr("1 link between neighbouring stages, between hosts"));
  EXPECT_THAT(table, HasSubstr("1 link between replicas of a stage, between hosts"));
  const auto each = nlohmann::json::parse(profile_text(with_links))["links"]["each"];
  ASSERT_EQ(each.size(), 5U);
  EXPECT_EQ(each[4]["of"], "replicas");
  EXPECT_EQ(each[3]["same_node"], false);
  EXPECT_EQ(profile_table(profile()).find("slowest"), std::string::npos);
}

}  // namespace
}  // namespace penstock
