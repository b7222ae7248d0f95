// What the config.json of families says that are like Llama but for a few members, and back.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/records/hub/config/made_config.h"
#include "tests/unit/records/hub/configs.h"

namespace penstock {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(HubFamilyConfigs, GraniteMultiplies) {
  const ModelConfig model = model_of(of_family("granite", R"({"embedding_multiplier": 12.0,
 "residual_multiplier": 0.22, "attention_multiplier": 0.015625, "logits_scaling": 8.0})"));
  EXPECT_EQ(model.embedding_scale, 12.0);
  EXPECT_EQ(model.residual_scale, 0.22);
  EXPECT_EQ(model.attention_scale, 0.015625);
  EXPECT_EQ(model.logit_scale, 0.125);
  EXPECT_THAT(refused(of_family("granite", R"({"residual_multiplier": 0})")),
              HasSubstr("\"residual_multiplier\" must be a number above 0"));
  EXPECT_THAT(refused(of_family("granite", R"({"logits_scaling": 1e-320})")),
              HasSubstr("\"logits_scaling\" must be a number from 1e-9 to 1e9"));
}

TEST(HubFamilyConfigs, Olmo2NormalisesBehind) {
  const ModelConfig model = model_of(of_family("olmo2", "{}"));
  EXPECT_EQ(model.norm_place, "after");
  EXPECT_TRUE(model.query_key_norm);
  EXPECT_EQ(model.query_key_norm_over, "projection");
  EXPECT_THAT(refused(of_family("olmo2", R"({"clip_qkv": 8.0})")), HasSubstr("\"clip_qkv\""));
}

TEST(HubFamilyConfigs, SmolLm3HasLayersWithoutPositions) {
  const std::string four = R"({"num_hidden_layers": 4, "no_rope_layer_interval": 2)";
  EXPECT_THAT(model_of(of_family("smollm3", four + "}")).rotary_layers, ElementsAre(0, 2));
  const ModelConfig listed =
      model_of(of_family("smollm3", four + R"(, "no_rope_layers": [0, 1, 1, 1]})"));
  EXPECT_THAT(listed.rotary_layers, ElementsAre(1, 2, 3));
  EXPECT_EQ(listed.window, 0);
  const ModelConfig all =
      model_of(of_family("smollm3", four + R"(, "no_rope_layers": [1, 1, 1, 1]})"));
  EXPECT_THAT(all.rotary_layers, IsEmpty());
  EXPECT_EQ(all.positions, "rotary");
  EXPECT_EQ(model_of(of_family("smollm3", R"({"no_rope_layer_interval": 1})")).positions, "none");
  const ModelConfig windowed = model_of(
      of_family("smollm3", four + R"(, "use_sliding_window": true, "sliding_window": 16})"));
  EXPECT_EQ(windowed.window, 16);
  EXPECT_THAT(windowed.window_layers, ElementsAre(1, 3)) << "those without positions";
  for (const char* const bad : {"[1, 1]", "[1, 1, 2, 1]", "[1, 1, true, 1]", "7"}) {
    EXPECT_THAT(refused(of_family("smollm3", four + R"(, "no_rope_layers": )" + bad + "}")),
                HasSubstr("\"no_rope_layers\""))
        << bad;
  }
}

TEST(HubFamilyConfigs, Phi3TurnsAPartOfEachHead) {
  const ModelConfig model = model_of(of_family("phi3", R"({"partial_rotary_factor": 0.75,
 "sliding_window": 16, "original_max_position_embeddings": 4096})"));
  EXPECT_EQ(model.rotary_width, 6);
  EXPECT_EQ(model.window, 16);
  EXPECT_EQ(model_of(of_family("phi3", "{}")).rotary_width, 0);
  const auto says = [](const std::string& more, const std::string& what) {
    EXPECT_THAT(refused(of_family("phi3", more)), HasSubstr(what)) << more;
  };
  says(R"({"partial_rotary_factor": 0.625})", "makes 5 of the 8 elements");
  says(R"({"partial_rotary_factor": 1.5})", "\"partial_rotary_factor\" must be at most 1");
  says(R"({"rope_parameters": {"rope_type": "longrope", "short_factor": [1.0]}})",
       "\"rope_type\" is \"longrope\": only default, linear and llama3");
  says(R"({"rope_parameters": {"rope_type": "linear", "factor": 2.0}})",
       "\"rope_scaling\" is \"linear\"");
}

constexpr const char* kMixtral = R"({"num_local_experts": 8, "num_experts_per_tok": 2,
 "router_aux_loss_coef": 0.02, "output_router_logits": false, "sliding_window": null})";
constexpr const char* kQwen3Moe = R"({"num_experts": 16, "num_experts_per_tok": 4,
 "moe_intermediate_size": 24, "norm_topk_prob": true, "decoder_sparse_step": 1,
 "mlp_only_layers": [], "router_aux_loss_coef": 0.001, "max_window_layers": 48,
 "sliding_window": null, "use_sliding_window": false})";

std::string with_members(const char* text, const std::string& more) {
  nlohmann::json members = nlohmann::json::parse(text);
  members.update(nlohmann::json::parse(more));
  return members.dump();
}

TEST(HubFamilyConfigs, MixtralIsAMixtureInEachLayer) {
  const ModelConfig model = model_of(of_family("mixtral", kMixtral));
  EXPECT_EQ(model.experts, 8);
  EXPECT_EQ(model.experts_per_token, 2);
  EXPECT_EQ(model.expert_width, 0) << "the width of a feed-forward layer";
  EXPECT_EQ(model.router, "softmax");
  EXPECT_TRUE(model.router_normalised);
  EXPECT_THAT(model.dense_layers, IsEmpty());
  const auto says = [](const std::string& more, const std::string& what) {
    EXPECT_THAT(refused(of_family("mixtral", with_members(kMixtral, more))), HasSubstr(what));
  };
  says(R"({"num_experts_per_tok": 9})", "\"num_experts_per_tok\" is more than the 8 experts");
  says(R"({"router_jitter_noise": 0.1})", "\"router_jitter_noise\"");
}

TEST(HubFamilyConfigs, QwensHaveLayersWithoutExperts) {
  const ModelConfig model = model_of(of_family("qwen3_moe", kQwen3Moe));
  EXPECT_EQ(model.experts, 16);
  EXPECT_EQ(model.expert_width, 24);
  EXPECT_EQ(model.hidden, 48);
  EXPECT_TRUE(model.query_key_norm);
  const auto dense = [](const std::string& more) {
    nlohmann::json members = nlohmann::json::parse(with_members(kQwen3Moe, more));
    members["num_hidden_layers"] = 5;
    return model_of(of_family("qwen3_moe", members.dump())).dense_layers;
  };
  EXPECT_THAT(dense("{}"), IsEmpty());
  EXPECT_THAT(dense(R"({"mlp_only_layers": [4, 1]})"), ElementsAre(1, 4));
  EXPECT_THAT(dense(R"({"decoder_sparse_step": 2, "mlp_only_layers": [3]})"),
              ElementsAre(0, 2, 3, 4));
  const auto says = [](const std::string& more, const std::string& what) {
    EXPECT_THAT(refused(of_family("qwen3_moe", with_members(kQwen3Moe, more))), HasSubstr(what));
  };
  says(R"({"mlp_only_layers": [0, 1]})", "leave no layer with experts");
  says(R"({"mlp_only_layers": 3})", "\"mlp_only_layers\" must be a list");
  says(R"({"num_local_experts": 8})", "\"num_experts\"");
  says(R"({"use_sliding_window": true})", "\"use_sliding_window\"");
}

TEST(HubFamilyConfigs, Qwen2MoeHasASharedExpert) {
  const ModelConfig model = model_of(of_family(
      "qwen2_moe", with_members(kQwen3Moe, R"({"shared_expert_intermediate_size": 40})")));
  EXPECT_EQ(model.shared_expert_width, 40);
  EXPECT_TRUE(model.shared_expert_gate);
  EXPECT_TRUE(model.attention_bias);
  EXPECT_FALSE(model.output_bias);
}

// What a config.json says of experts comes back from the one that is made of it.
TEST(MadeFamilyConfigs, SayMixtures) {
  const auto comes_back = [](const std::string& family, const std::string& more) {
    const ModelConfig model = model_of(of_family(family, more));
    EXPECT_EQ(make_hub_config(model).family, family);
    return model;
  };
  const ModelConfig mixtral = comes_back("mixtral", kMixtral);
  (void)comes_back("olmoe", R"({"num_experts": 8, "num_experts_per_tok": 3})");
  (void)comes_back("qwen3_moe", with_members(kQwen3Moe, R"({"mlp_only_layers": [1]})"));
  (void)comes_back("qwen2_moe",
                   with_members(kQwen3Moe, R"({"shared_expert_intermediate_size": 40})"));
  ModelConfig other = mixtral;
  other.router = "sigmoid";
  EXPECT_THAT(refusal(ErrorKind::Input, [&] { (void)make_hub_config(other); }),
              HasSubstr("the nearest, mixtral, would take model.router = \"softmax\""));
  other = mixtral;
  other.experts = 0;
  other.shared_expert_width = 5;  // counts with experts alone
  EXPECT_EQ(make_hub_config(other).family, "llama");
}

TEST(MadeFamilyConfigs, SayWhatOneFamilyAloneHas) {
  ModelConfig plain = scratch_model();
  plain.positions = "rotary";
  plain.norm = "rms";
  plain.gated = true;
  plain.bias = plain.attention_bias = plain.output_bias = false;
  const auto again = [](const ModelConfig& model, const std::string& family) {
    const MadeConfig made = make_hub_config(model);
    EXPECT_EQ(made.family, family);
    EXPECT_THAT(made.text, HasSubstr("\"pad_token_id\": null")) << "else transformers takes one";
    return parse_hub_config(made.text, "again").model;
  };
  ModelConfig model = plain;
  model.residual_scale = 0.22;
  model.logit_scale = 1.0 / 3.0;
  EXPECT_EQ(again(model, "granite").residual_scale, 0.22);
  EXPECT_EQ(again(model, "granite").attention_scale, 0.5) << "1 / sqrt(4)";
  model = plain;
  model.query_key_norm = true;
  model.query_key_norm_over = "projection";
  model.norm_place = "after";
  EXPECT_EQ(again(model, "olmo2").norm_place, "after");
  model = plain;
  model.rotary_layers = {0, 2};
  EXPECT_THAT(again(model, "smollm3").rotary_layers, ElementsAre(0, 2));
  model.rotary_layers = {0, 1, 2, 3};
  EXPECT_THAT(again(model, "llama").rotary_layers, IsEmpty());
  model = plain;
  model.width = 400;  // heads of 100, of which 0.58 is a little less than 58 in binary
  model.rotary_width = 58;
  EXPECT_EQ(again(model, "phi3").rotary_width, 58);
}

}  // namespace
}  // namespace penstock
