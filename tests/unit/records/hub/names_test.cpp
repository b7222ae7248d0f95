// The tables of names, read in both directions.
#include "runtime/records/hub/names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "tests/unit/records/hub/folders.h"

namespace penstock {
namespace {

// What lies where nothing else does can be written back.
TEST(HubNames, NoTwoTensorsOfOursLieInOnePlace) {
  for (const HubFamily& family : hub_families()) {
    std::set<std::string> ours, places;
    for (const NameRow& row : family.rows) {
      EXPECT_TRUE(ours.insert(row.ours).second) << row.ours;
      EXPECT_TRUE(places.insert(row.theirs + std::to_string(row.part)).second) << row.theirs;
      EXPECT_LT(row.part, row.parts);
      EXPECT_EQ(std::string(row.ours).find('#') == std::string::npos,
                std::string(row.theirs).find('#') == std::string::npos);
    }
  }
}

// Six rows of queries, two of keys and two of values in one tensor, and two parts of one size.
TEST(HubNames, OfPartsOfSeveralSizes) {
  const auto first = [](const std::string& name, int64_t theirs, int64_t ours) {
    return first_row_in(place_in(hub_family("phi3"), "blocks.0." + name), theirs, ours);
  };
  EXPECT_EQ(first("attention.query.weight", 10, 6), 0);
  EXPECT_EQ(first("attention.key.weight", 10, 2), 6);
  EXPECT_EQ(first("attention.value.weight", 10, 2), 8);
  EXPECT_EQ(first("feed_forward.gate.weight", 8, 4), 0);
  EXPECT_EQ(first("feed_forward.in.weight", 8, 4), 4);
}

// Each expert has a tensor of its own in the folder.
TEST(HubNames, OfExperts) {
  const HubPlace place = place_in(hub_family("mixtral"), "blocks.3.experts.out.weight");
  const std::vector<HubPart> parts = parts_of(place, {11, 4, 6}, 2);
  ASSERT_EQ(parts.size(), 11U);
  EXPECT_EQ(parts[10].place.name, "model.layers.3.block_sparse_moe.experts.10.w2.weight");
  EXPECT_EQ(parts[10].shape, (std::vector<int64_t>{4, 6}));
  EXPECT_EQ(parts[10].first, 240);
  const HubPlace router = place_in(hub_family("qwen3_moe"), "blocks.3.experts.router.weight");
  ASSERT_EQ(parts_of(router, {11, 4}, 2).size(), 1U);
  EXPECT_EQ(parts_of(router, {11, 4}, 2)[0].place.name, "model.layers.3.mlp.gate.weight");
  EXPECT_EQ(parts_of(router, {11, 4}, 2)[0].shape, (std::vector<int64_t>{11, 4}));
}

// Rows of a head's queries, keys and values lie in turn.
TEST(HubNames, OfHeads) {
  const HubPlace place = place_in(hub_family("gpt_neox"), "blocks.1.attention.key.weight");
  const std::vector<HubPart> parts = parts_of(place, {6, 5}, 2);
  ASSERT_EQ(parts.size(), 2U);
  EXPECT_EQ(parts[1].place.name, "gpt_neox.layers.1.attention.query_key_value.weight");
  EXPECT_EQ(parts[1].shape, (std::vector<int64_t>{3, 5}));
  EXPECT_EQ(parts[1].first, 15) << "the second head's first number in our tensor";
  EXPECT_EQ(shape_in(parts[1].place, parts[1].shape), (std::vector<int64_t>{18, 5}));
  EXPECT_EQ(first_row_in(parts[0].place, 18, 3), 3) << "behind the first head's queries";
  EXPECT_EQ(first_row_in(parts[1].place, 18, 3), 12) << "and behind the second's";
}

// Two of ours in one tensor of theirs, which begins anew with each expert.
TEST(HubNames, OfPartsOfExperts) {
  const HubPlace place = place_in(hub_family("granitemoe"), "blocks.3.experts.in.weight");
  const std::vector<HubPart> parts = parts_of(place, {5, 4, 6}, 2);
  ASSERT_EQ(parts.size(), 5U);
  EXPECT_EQ(parts[2].place.name, "model.layers.3.block_sparse_moe.input_linear.weight");
  EXPECT_EQ(parts[2].shape, (std::vector<int64_t>{4, 6}));
  EXPECT_EQ(parts[2].first, 48);
  EXPECT_EQ(shape_in(parts[2].place, parts[2].shape), (std::vector<int64_t>{5, 8, 6}));
  EXPECT_EQ(first_row_in(parts[2].place, 5, 4), 20) << "behind two experts and a part";
}

// Columns of two of ours take turns in one tensor of theirs, which begins anew with each expert.
TEST(HubNames, OfColumnsOfExperts) {
  const HubPlace place = place_in(hub_family("gpt_oss"), "blocks.3.experts.in.weight");
  const std::vector<HubPart> parts = parts_of(place, {5, 4, 6}, 2);
  ASSERT_EQ(parts.size(), 5U);
  EXPECT_EQ(parts[2].place.name, "model.layers.3.mlp.experts.gate_up_proj");
  EXPECT_EQ(parts[2].place.part, 5);
  EXPECT_EQ(parts[2].first, 48);
  EXPECT_EQ(shape_in(parts[2].place, parts[2].shape), (std::vector<int64_t>{5, 6, 8}));
  const HubPlace bias = place_in(hub_family("gpt_oss"), "blocks.3.experts.in.bias");
  const std::vector<HubPart> biases = parts_of(bias, {5, 4}, 2);
  EXPECT_EQ(shape_in(biases[2].place, biases[2].shape), (std::vector<int64_t>{5, 8}));
}

TEST(HubNames, OfANumberedBlock) {
  const HubPlace place = place_in(hub_family("gpt2"), "blocks.12.attention.key.weight");
  EXPECT_EQ(place.name, "transformer.h.12.attn.c_attn.weight");
  EXPECT_EQ(place.part, 1);
  EXPECT_EQ(shape_in(place, {8, 8}), (std::vector<int64_t>{8, 24}));
  EXPECT_EQ(place_in(hub_family("qwen3"), "blocks.3.attention.key_norm.weight").name,
            "model.layers.3.self_attn.k_norm.weight");
  EXPECT_EQ(place_in(hub_family("olmo2"), "blocks.3.norm1.weight").name,
            "model.layers.3.post_attention_layernorm.weight");
  EXPECT_THAT(
      refusal(ErrorKind::Input,
              [] { (void)place_in(hub_family("gpt2"), "blocks.0.feed_forward.gate.weight"); }),
      testing::HasSubstr("blocks.0.feed_forward.gate.weight"));
}

}  // namespace
}  // namespace penstock
