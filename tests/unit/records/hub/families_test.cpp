// What the config.json of families says that are like Llama but for a few members, and back.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string_view>

#include "runtime/records/hub/config/made/made_config.h"
#include "runtime/records/hub/config/made/made_families.h"
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
  const std::string published = R"({"interpolate_factor": 1, "lm_head_bias": false,
 "full_attn_mod": )";
  EXPECT_EQ(model_of(of_family("phi3", published + "1}")).rotary_width, 0);
  EXPECT_THAT(refused(of_family("phi3", published + "2}")), HasSubstr("\"full_attn_mod\" is 2"));
  const auto says = [](const std::string& more, const std::string& what) {
    EXPECT_THAT(refused(of_family("phi3", more)), HasSubstr(what)) << more;
  };
  says(R"({"partial_rotary_factor": 0.625})", "makes 5 of the 8 elements");
  says(R"({"partial_rotary_factor": 1.5})", "\"partial_rotary_factor\" must be at most 1");
  const std::string rope = R"({"rope_parameters": {"rope_type": "longrope", "long_factor": )";
  const std::string four = "[1.5, 2, 3.0, 4.0]";
  const std::string eight = R"(}, "original_max_position_embeddings": 8})";
  ModelConfig longrope =
      model_of(of_family("phi3", rope + four + R"(, "short_factor": [1, 1, 1.5, 2])" + eight));
  EXPECT_EQ(longrope.rotary_scaling, "longrope");
  EXPECT_EQ(longrope.rotary_original, 8);
  EXPECT_EQ(longrope.rotary_factor, static_cast<double>(longrope.context) / 8.0);
  EXPECT_THAT(longrope.rotary_short, ElementsAre(1.0, 1.0, 1.5, 2.0));
  EXPECT_THAT(longrope.rotary_long, ElementsAre(1.5, 2.0, 3.0, 4.0));
  says(rope + four + eight, "\"short_factor\" is missing");
  says(rope + four + R"(, "short_factor": [1.0]})" + eight.substr(1),
       "\"short_factor\" must have a number for each of the 4 pairs");
  says(rope + four + R"(, "short_factor": [1, 1, 0, "x"]})" + eight.substr(1),
       "\"short_factor\" has something else than numbers above 0");
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

constexpr const char* kGraniteMoe = R"({"num_local_experts": 8, "num_experts_per_tok": 2,
 "residual_multiplier": 0.22, "attention_multiplier": 0.015625, "router_aux_loss_coef": 0.0})";
constexpr const char* kDots1 = R"({"n_routed_experts": 12, "num_experts_per_tok": 4,
 "moe_intermediate_size": 24, "n_shared_experts": 2, "first_k_dense_replace": 1, "n_group": 3,
 "topk_group": 2, "routed_scaling_factor": 2.5, "norm_topk_prob": true, "sliding_window": null,
 "max_window_layers": 62, "scoring_func": "sigmoid", "topk_method": "noaux_tc"})";

TEST(HubFamilyConfigs, GraniteMoeMultiplies) {
  const ModelConfig model = model_of(of_family("granitemoe", kGraniteMoe));
  EXPECT_EQ(model.experts, 8);
  EXPECT_TRUE(model.router_normalised) << "a softmax of the chosen logits";
  EXPECT_EQ(model.residual_scale, 0.22);
  const std::string shared = with_members(kGraniteMoe, R"({"shared_intermediate_size": 20})");
  EXPECT_EQ(model_of(of_family("granitemoeshared", shared)).shared_expert_width, 20);
  EXPECT_THAT(refused(of_family("granitemoe", shared)), HasSubstr("\"shared_intermediate_size\""));
  EXPECT_THAT(refused(of_family("granitemoe", with_members(kGraniteMoe, R"({"mlp_bias": true})"))),
              HasSubstr("\"mlp_bias\""));
}

TEST(HubFamilyConfigs, Dots1HasTheRouterOfDeepseek) {
  const ModelConfig model = model_of(of_family("dots1", kDots1));
  EXPECT_EQ(model.router, "sigmoid");
  EXPECT_TRUE(model.router_correction);
  EXPECT_EQ(model.balance_rate, 0.0);
  EXPECT_EQ(model.router_scale, 2.5);
  EXPECT_EQ(model.expert_groups, 3);
  EXPECT_EQ(model.groups_per_token, 2);
  EXPECT_EQ(model.expert_width, 24);
  EXPECT_EQ(model.shared_expert_width, 48);
  EXPECT_THAT(model.dense_layers, ElementsAre(0));
  EXPECT_EQ(model.window, 0);
  EXPECT_TRUE(model.query_key_norm);
  const auto says = [](const std::string& more, const std::string& what) {
    EXPECT_THAT(refused(of_family("dots1", with_members(kDots1, more))), HasSubstr(what)) << more;
  };
  says(R"({"n_group": 5})", "\"n_group\" is 5");
  says(R"({"topk_group": 4})", "\"topk_group\" is more than the groups");
  says(R"({"first_k_dense_replace": 2})", "\"first_k_dense_replace\" leaves no layer");
  says(R"({"first_k_dense_replace": -1})", "\"first_k_dense_replace\" must be a whole number");
  says(R"({"scoring_func": "softmax"})", "\"scoring_func\"");
  says(R"({"topk_method": "greedy"})", "\"topk_method\"");
  says(R"({"n_shared_experts": null})", "\"n_shared_experts\" is missing");
  const std::string windows = R"({"sliding_window": 16, "max_window_layers": 1})";
  const ModelConfig windowed = model_of(of_family("dots1", with_members(kDots1, windows)));
  EXPECT_EQ(windowed.window, 16);
  EXPECT_THAT(windowed.window_layers, ElementsAre(1));
}

TEST(HubFamilyConfigs, Glm4MoeTurnsHalfOfEachHead) {
  const std::string air = with_members(kDots1, R"({"n_group": 1, "topk_group": 1,
 "use_qk_norm": true, "attention_bias": true, "num_nextn_predict_layers": 1})");
  nlohmann::json members = nlohmann::json::parse(air);
  members.erase("sliding_window");
  members.erase("max_window_layers");
  const ModelConfig model = model_of(of_family("glm4_moe", members.dump()));
  EXPECT_EQ(model.rotary_width, 4);
  EXPECT_TRUE(model.query_key_norm);
  EXPECT_TRUE(model.attention_bias);
  EXPECT_FALSE(model.output_bias);
  EXPECT_EQ(make_hub_config(model).family, "glm4_moe");
}

// Families with latent attention are refused by name.
TEST(HubFamilyConfigs, OthersAreRefusedByName) {
  for (const char* family : {"deepseek_v2", "deepseek_v3", "gpt_oss"}) {
    EXPECT_THAT(refused(of_family(family, "{}")), HasSubstr(std::string("is \"") + family));
  }
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
  (void)comes_back("granitemoe", kGraniteMoe);
  (void)comes_back("granitemoeshared",
                   with_members(kGraniteMoe, R"({"shared_intermediate_size": 20})"));
  ModelConfig dots = comes_back("dots1", kDots1);
  (void)comes_back("dots1",
                   with_members(kDots1, R"({"sliding_window": 16, "max_window_layers": 1})"));
  dots.balance_rate = 0.01;  // is for training
  EXPECT_EQ(make_hub_config(dots).family, "dots1");
  const auto needs = [&](const std::function<void(ModelConfig&)>& change, const char* what) {
    ModelConfig changed = dots;
    change(changed);
    EXPECT_THAT(refusal(ErrorKind::Input, [&] { (void)make_hub_config(changed); }),
                HasSubstr(what));
  };
  needs([](ModelConfig& m) { m.router_bias = true; },
        "dots1, would take model.router_bias = false");
  needs([](ModelConfig& m) { m.dense_layers = {1}; }, "model.dense_layers that are the first");
  needs([](ModelConfig& m) { m.shared_expert_width = 25; }, "a multiple of model.expert_width");
  ModelConfig other = mixtral;
  other.router = "sigmoid";
  EXPECT_THAT(refusal(ErrorKind::Input, [&] { (void)make_hub_config(other); }),
              HasSubstr("the nearest, mixtral, would take model.router = \"softmax\""));
  other = mixtral;
  other.experts = 0;
  other.shared_expert_width = 5;  // counts with experts alone
  EXPECT_EQ(make_hub_config(other).family, "llama");
}

TEST(HubFamilyConfigs, GemmaIsAboutOne) {
  const ModelConfig model = model_of(of_family("gemma", R"({"hidden_act": "gelu"})"));
  EXPECT_EQ(model.embedding_scale, std::sqrt(static_cast<double>(model.width)));
  EXPECT_TRUE(model.norm_zero_centered);
  EXPECT_EQ(model.activation, "gelu-tanh") << "as transformers takes that name here";
  EXPECT_EQ(model.norm_place, "before");
  EXPECT_THAT(refused(of_family("gemma", R"({"use_bidirectional_attention": true})")),
              HasSubstr("\"use_bidirectional_attention\""));
  EXPECT_THAT(refused(of_family("gemma", R"({"hidden_activation": "silu"})")),
              HasSubstr("\"hidden_activation\" is not gelu_pytorch_tanh"));
}

TEST(HubFamilyConfigs, Gemma2CapsAndHasWindowsInTurns) {
  const auto gemma2 = [](const std::string& more) {
    return of_family("gemma2", R"({"num_hidden_layers": 4, "hidden_act": null,
 "hidden_activation": "gelu_pytorch_tanh")" +
                                   more + "}");
  };
  const ModelConfig model = model_of(gemma2(R"(, "query_pre_attn_scalar": 25)"));
  EXPECT_EQ(model.norm_place, "both");
  EXPECT_EQ(model.attention_scale, 0.2);
  EXPECT_EQ(model.attention_softcap, 50.0);
  EXPECT_EQ(model.logit_softcap, 30.0);
  EXPECT_EQ(model.window, 4096);
  EXPECT_THAT(model.window_layers, ElementsAre(0, 2));
  const ModelConfig other = model_of(gemma2(R"(, "query_pre_attn_scalar": 8,
 "attn_logit_softcapping": null, "sliding_window": 9,
 "layer_types": ["full_attention", "full_attention", "sliding_attention", "full_attention"])"));
  EXPECT_EQ(other.attention_scale, 0.0) << "the usual one, of heads that are 8 wide";
  EXPECT_EQ(other.attention_softcap, 0.0);
  EXPECT_THAT(other.window_layers, ElementsAre(2));
  EXPECT_THAT(refused(gemma2(R"(, "hidden_act": "silu")")), HasSubstr("\"hidden_act\" is not"));
  EXPECT_EQ(model_of(gemma2(R"(, "sliding_window": 9, "sliding_window_size": 9)")).window, 9);
  EXPECT_THAT(refused(gemma2(R"(, "sliding_window": 9, "sliding_window_size": 8)")),
              HasSubstr("\"sliding_window_size\" is 8"));
  EXPECT_THAT(refused(gemma2(R"(, "sliding_window": null)")),
              HasSubstr("\"sliding_window\" is null, though layers have a window"));
}

TEST(HubFamilyConfigs, Gemma3HasTwoSetsOfPositions) {
  const auto gemma3 = [](const std::string& more) {
    return of_family("gemma3_text", R"({"num_hidden_layers": 4, "hidden_act": null,
 "hidden_activation": "gelu_pytorch_tanh", "sliding_window_pattern": 2)" +
                                        more + "}");
  };
  const std::string old = R"(, "rope_parameters": null, "rope_theta": 5e5)";
  const ModelConfig model =
      model_of(gemma3(old + R"(, "rope_scaling": {"rope_type": "linear", "factor": 8.0})"));
  EXPECT_EQ(model.rotary_base, 5e5);
  EXPECT_EQ(model.rotary_factor, 8.0);
  EXPECT_EQ(model.window_rotary_base, 1e4);
  EXPECT_THAT(model.window_layers, ElementsAre(0, 2));
  EXPECT_TRUE(model.query_key_norm);
  const auto kinds = [&](const std::string& windowed) {
    return gemma3(R"(, "rope_parameters": {"full_attention": {"rope_type": "yarn", "factor": 4.0,
 "original_max_position_embeddings": 16, "rope_theta": 7e5}, "sliding_attention": )" +
                  windowed + "}");
  };
  const ModelConfig newer = model_of(kinds(R"({"rope_type": "default", "rope_theta": 300.0})"));
  EXPECT_EQ(newer.rotary_base, 7e5);
  EXPECT_EQ(newer.rotary_scaling, "yarn");
  EXPECT_EQ(newer.rotary_high, 32.0);
  EXPECT_EQ(newer.window_rotary_base, 300.0);
  EXPECT_THAT(refused(kinds(R"({"rope_type": "linear", "factor": 2.0})")),
              HasSubstr("sliding_attention: \"rope_type\" is \"linear\""));
  EXPECT_THAT(refused(gemma3("")), HasSubstr("rope_parameters: \"rope_theta\""))
      << "not by kinds of layers";
  EXPECT_THAT(refused(of_family("gemma3", "{}")), HasSubstr("gemma3_text")) << "with pictures";
  EXPECT_THAT(refused(gemma3(old + R"(, "attn_logit_softcapping": 50.0)")),
              HasSubstr("\"attn_logit_softcapping\""));
}

TEST(HubFamilyConfigs, Olmo3ScalesNoPositionsInWindows) {
  const ModelConfig model = model_of(of_family("olmo3", R"({"num_hidden_layers": 4,
 "sliding_window": 16, "rope_parameters": null, "rope_theta": 5e5, "rope_scaling": {
 "rope_type": "yarn", "factor": 8.0, "original_max_position_embeddings": 8192,
 "attention_factor": 1.2, "beta_fast": 32.0, "beta_slow": 1.0}})"));
  EXPECT_EQ(model.norm_place, "after");
  EXPECT_EQ(model.query_key_norm_over, "projection");
  EXPECT_EQ(model.rotary_scaling, "yarn");
  EXPECT_EQ(model.window_rotary_base, 5e5);
  EXPECT_THAT(model.window_layers, ElementsAre(0, 1, 2));
}

TEST(HubFamilyConfigs, MinistralSaysWhichLayersHaveTheWindow) {
  const auto ministral = [](const std::string& more) {
    return of_family("ministral", R"({"num_hidden_layers": 3)" + more + "}");
  };
  EXPECT_EQ(model_of(ministral("")).window, 4096);
  EXPECT_THAT(model_of(ministral("")).window_layers, IsEmpty()) << "all";
  EXPECT_EQ(model_of(ministral(R"(, "sliding_window": null)")).window, 0);
  EXPECT_THAT(model_of(ministral(R"(, "layer_types":
 ["full_attention", "sliding_attention", "full_attention"])"))
                  .window_layers,
              ElementsAre(1));
  EXPECT_THAT(refused(ministral(R"(, "sliding_window": null, "layer_types":
 ["full_attention", "sliding_attention", "full_attention"])")),
              HasSubstr("\"layer_types\""));
}

TEST(HubFamilyConfigs, SeedOssHasBiasesOneByOne) {
  const ModelConfig model =
      model_of(of_family("seed_oss", R"({"attention_out_bias": true, "attention_bias": false})"));
  EXPECT_FALSE(model.attention_bias);
  EXPECT_TRUE(model.output_bias);
  EXPECT_FALSE(model.bias);
}

TEST(HubFamilyConfigs, Exaone4HasPositionsInWindowsAlone) {
  const auto exaone = [](const std::string& more) {
    return of_family("exaone4", R"({"num_hidden_layers": 4)" + more + "}");
  };
  const ModelConfig model = model_of(exaone(""));
  EXPECT_THAT(model.window_layers, ElementsAre(0, 1, 2));
  EXPECT_EQ(model.rotary_layers, model.window_layers);
  EXPECT_EQ(model.norm_place, "after");
  EXPECT_EQ(model.query_key_norm_over, "head");
  const ModelConfig plain = model_of(exaone(R"(, "sliding_window": null)"));
  EXPECT_EQ(plain.positions, "rotary");
  EXPECT_THAT(plain.rotary_layers, IsEmpty());
  const std::string four = R"(, "layer_types": ["full_attention", "full_attention",
 "full_attention", "full_attention"])";
  EXPECT_EQ(model_of(exaone(four)).positions, "none");
  EXPECT_EQ(model_of(exaone(four + R"(, "sliding_window_pattern": "LLLG")")).positions, "none");
  EXPECT_THAT(refused(exaone(R"(, "sliding_window_pattern": "LLLG")")),
              HasSubstr("\"sliding_window_pattern\" is no number"));
}

TEST(HubFamilyConfigs, Starcoder2AndStableLmHaveLayerNorms) {
  const std::string norms = R"({"rms_norm_eps": null, "norm_epsilon": 1e-5, "layer_norm_eps": 1e-5,
 "attention_bias": null, "mlp_bias": null, "head_dim": 8)";
  const auto with = [&](const std::string& family, const char* other, const std::string& more) {
    nlohmann::json document = nlohmann::json::parse(of_family(family, norms + more + "}"));
    for (const char* key : {"rms_norm_eps", "attention_bias", "mlp_bias", other}) {
      document.erase(key);
    }
    return document.dump();
  };
  const ModelConfig starcoder = model_of(with("starcoder2", "layer_norm_eps", ""));
  EXPECT_EQ(starcoder.norm, "layer");
  EXPECT_FALSE(starcoder.gated);
  EXPECT_TRUE(starcoder.bias && starcoder.attention_bias && starcoder.output_bias);
  EXPECT_EQ(starcoder.window, 0);
  const std::string published = R"(, "activation_function": "gelu", "layer_norm_epsilon": 1e-5,
 "attention_softmax_in_fp32": true, "scale_attention_softmax_in_fp32": true,
 "scale_attn_weights": true, "norm_type": "layer_norm", "mlp_type": )";
  EXPECT_EQ(model_of(with("starcoder2", "layer_norm_eps", published + "\"default\"")).norm,
            "layer");
  EXPECT_THAT(refused(with("starcoder2", "layer_norm_eps", published + "\"gated\"")),
              HasSubstr("\"mlp_type\" is \"gated\""));
  const auto stablelm = [&](const std::string& more) {
    return with("stablelm", "norm_epsilon", more);
  };
  const ModelConfig stable = model_of(stablelm(R"(, "use_qkv_bias": true)"));
  EXPECT_EQ(stable.norm, "layer");
  EXPECT_TRUE(stable.gated && stable.attention_bias);
  EXPECT_FALSE(stable.output_bias);
  EXPECT_EQ(stable.rotary_width, 2) << "a quarter of a head";
  EXPECT_FALSE(stable.parallel_branches);
  const ModelConfig parallel = model_of(stablelm(R"(, "use_parallel_residual": true)"));
  EXPECT_TRUE(parallel.parallel_branches && parallel.shared_norm);
  EXPECT_THAT(refused(stablelm(R"(, "qk_layernorm": true)")), HasSubstr("\"qk_layernorm\""));
}

TEST(HubFamilyConfigs, GlmTurnsNeighboursOfHalfAHead) {
  const ModelConfig glm = model_of(of_family("glm", "{}"));
  EXPECT_EQ(glm.rotary_pairs, "neighbours");
  EXPECT_EQ(glm.rotary_width, 4);
  EXPECT_FALSE(glm.attention_bias || glm.output_bias);
  EXPECT_EQ(glm.norm_place, "before");
  const ModelConfig biased = model_of(of_family("glm4", R"({"attention_bias": true})"));
  EXPECT_TRUE(biased.attention_bias);
  EXPECT_FALSE(biased.output_bias);
  EXPECT_EQ(biased.norm_place, "both");
  EXPECT_THAT(refused(of_family("glm4", R"({"head_dim": null})")), HasSubstr("\"head_dim\""));
}

// What Llama's config.json of the tests has, with layer norms, and heads that share the width.
std::string with_layer_norms(const std::string& family, const std::string& more) {
  nlohmann::json document = nlohmann::json::parse(of_family(family, more));
  document.erase("rms_norm_eps");
  document.erase("mlp_bias");
  document["layer_norm_eps"] = 1e-5;
  return document.dump();
}

TEST(HubFamilyConfigs, GptNeoxHasBranchesSideBySide) {
  const auto neox = [](const std::string& more) {
    nlohmann::json document = nlohmann::json::parse(with_layer_norms("gpt_neox", more));
    document.erase("num_key_value_heads");
    document.erase("rope_parameters");
    document.update(nlohmann::json::parse(more));
    return document.dump();
  };
  const ModelConfig model = model_of(neox(R"({"attention_bias": true, "rotary_pct": 0.5,
 "rotary_emb_base": 700})"));
  EXPECT_TRUE(model.parallel_branches && model.attention_bias && model.output_bias && model.bias);
  EXPECT_FALSE(model.shared_norm || model.gated);
  EXPECT_EQ(model.norm, "layer");
  EXPECT_EQ(model.kv_heads, model.heads);
  EXPECT_EQ(model.rotary_width, 4);
  EXPECT_EQ(model.rotary_base, 700.0);
  EXPECT_FALSE(model_of(neox(R"({"use_parallel_residual": false})")).parallel_branches);
  EXPECT_THAT(refused(neox(R"({"use_parallel_residual": null})")),
              HasSubstr("\"use_parallel_residual\" is null"));
  EXPECT_THAT(refused(neox(R"({"rope_theta": 700.0})")), HasSubstr("\"rope_theta\" is 700"));
  EXPECT_THAT(refused(neox(R"({"num_key_value_heads": 2})")),
              HasSubstr("\"num_key_value_heads\" is not num_attention_heads"));
  EXPECT_THAT(refused(neox(R"({"head_dim": 16})")), HasSubstr("\"head_dim\" times"));
  // What transformers 5 writes.
  const ModelConfig later = model_of(neox(R"({"rope_parameters": {"rope_type": "default",
 "rope_theta": 900.0, "partial_rotary_factor": 1.0}})"));
  EXPECT_EQ(later.rotary_base, 900.0);
  EXPECT_EQ(later.rotary_width, 0);
}

TEST(HubFamilyConfigs, CohereReadsOneNorm) {
  const ModelConfig model = model_of(with_layer_norms("cohere", R"({"logit_scale": 0.25})"));
  EXPECT_TRUE(model.parallel_branches && model.shared_norm && model.gated);
  EXPECT_FALSE(model.norm_bias);
  EXPECT_EQ(model.norm, "layer");
  EXPECT_EQ(model.rotary_pairs, "neighbours");
  EXPECT_EQ(model.logit_scale, 0.25);
  EXPECT_THAT(refused(with_layer_norms("cohere", R"({"use_qk_norm": true})")),
              HasSubstr("\"use_qk_norm\" is true"));
  EXPECT_THAT(refused(with_layer_norms("cohere", R"({"logit_scale": null})")),
              HasSubstr("\"logit_scale\" is null"));
  const std::string four = R"({"num_hidden_layers": 4, "sliding_window": 16)";
  const ModelConfig windows =
      model_of(with_layer_norms("cohere2", four + R"(, "layer_switch": 4, "rotary_pct": 1.0,
 "order_of_interleaved_layers": "local_attn_first", "position_embedding_type": "rope_gptj",
 "use_gated_activation": true, "use_parallel_block": true, "use_parallel_embedding": true})"));
  EXPECT_EQ(windows.window, 16);
  EXPECT_THAT(windows.window_layers, ElementsAre(0, 1, 2));
  EXPECT_THAT(windows.rotary_layers, ElementsAre(0, 1, 2));
  EXPECT_THAT(refused(with_layer_norms("cohere2", four + R"(, "layer_switch": 3})")),
              HasSubstr("\"layer_switch\" is 3"));
  EXPECT_THAT(refused(with_layer_norms("cohere2", four + R"(, "use_parallel_block": false})")),
              HasSubstr("\"use_parallel_block\" is false"));
  EXPECT_EQ(model_of(with_layer_norms("cohere2", R"({"layer_types": ["full_attention",
 "full_attention"]})"))
                .positions,
            "none");
}

TEST(HubFamilyConfigs, PositionsAreScaledInSixWays) {
  const auto with = [](const std::string& rope) {
    return of_family("llama", R"({"rope_parameters": )" + rope + "}");
  };
  const ModelConfig yarn = model_of(with(R"({"rope_type": "yarn", "factor": 4.0,
 "original_max_position_embeddings": 16, "beta_slow": 2.0, "attention_factor": 1.25})"));
  EXPECT_EQ(yarn.rotary_low, 2.0);
  EXPECT_EQ(yarn.rotary_high, 32.0);
  EXPECT_EQ(yarn.rotary_attention_factor, 1.25);
  const ModelConfig quotient = model_of(with(R"({"rope_type": "yarn", "factor": 40.0,
 "original_max_position_embeddings": 16, "mscale": 1.0, "mscale_all_dim": 0.5})"));
  EXPECT_DOUBLE_EQ(quotient.rotary_attention_factor,
                   (0.1 * std::log(40.0) + 1.0) / (0.05 * std::log(40.0) + 1.0));
  EXPECT_THAT(refused(with(R"({"rope_type": "yarn", "factor": 4.0, "truncate": false,
 "original_max_position_embeddings": 16})")),
              HasSubstr("\"truncate\" is false"));
  const ModelConfig dynamic = model_of(with(R"({"rope_type": "dynamic", "factor": 4.0})"));
  EXPECT_EQ(dynamic.rotary_scaling, "dynamic");
  EXPECT_EQ(dynamic.rotary_original, dynamic.context);
  EXPECT_THAT(refused(with(R"({"rope_type": "proportional", "factor": 2.0})")),
              HasSubstr("only default, linear, llama3, yarn, longrope and dynamic"));
}

TEST(MadeFamilyConfigs, LeaveOutNumbersOfOtherScalings) {
  ModelConfig model = model_of(of_family("llama", "{}"));
  model.rotary_attention_factor = 1.2;
  model.rotary_short = {1.5};
  EXPECT_EQ(make_hub_config(model).family, "llama");
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
  model.rotary_width = 50;
  model.rotary_scaling = "longrope";
  model.rotary_short = std::vector<double>(25, 1.5);
  model.rotary_long = std::vector<double>(25, 2.5);
  EXPECT_EQ(again(model, "phi3").rotary_long, model.rotary_long);
  model = plain;
  model.rotary_scaling = "yarn";
  EXPECT_EQ(again(model, "llama").rotary_high, 32.0);
}

TEST(MadeFamilyConfigs, SayFamiliesThatAreAlmostLlama) {
  ModelConfig plain = scratch_model();
  plain.positions = "rotary";
  plain.norm = "rms";
  plain.gated = true;
  plain.bias = plain.attention_bias = plain.output_bias = false;
  const auto family_of_it = [](const ModelConfig& model) { return make_hub_config(model).family; };
  ModelConfig model = plain;
  model.window = 3;
  model.window_layers = {1, 2};
  EXPECT_EQ(family_of_it(model), "ministral");
  model.norm_place = "after";
  model.query_key_norm = true;
  model.rotary_layers = {1, 2};
  EXPECT_EQ(family_of_it(model), "exaone4");
  model.rotary_layers = {};
  model.query_key_norm_over = "projection";
  model.window_rotary_base = 700.0;
  model.rotary_scaling = "yarn";
  EXPECT_EQ(family_of_it(model), "olmo3");
  model = plain;
  model.output_bias = model.bias = true;
  EXPECT_EQ(family_of_it(model), "seed_oss");
  model = plain;
  model.norm = "layer";
  model.rotary_width = 2;
  EXPECT_EQ(family_of_it(model), "stablelm");
  model.parallel_branches = model.shared_norm = true;
  EXPECT_EQ(family_of_it(model), "stablelm");
  model.parallel_branches = model.shared_norm = false;
  model.rotary_width = 0;
  model.gated = false;
  model.bias = model.attention_bias = model.output_bias = true;
  EXPECT_EQ(family_of_it(model), "starcoder2");
}

TEST(MadeFamilyConfigs, SayNeighboursAndBranchesSideBySide) {
  ModelConfig plain = scratch_model();
  plain.positions = "rotary";
  plain.norm = "rms";
  plain.gated = true;
  plain.bias = plain.attention_bias = plain.output_bias = false;
  const auto family_of_it = [](const ModelConfig& model) { return make_hub_config(model).family; };
  ModelConfig model = plain;
  model.rotary_pairs = "neighbours";
  model.attention_bias = true;
  EXPECT_EQ(family_of_it(model), "glm");
  model.norm_place = "both";
  model.rotary_width = 2;
  EXPECT_EQ(family_of_it(model), "glm4");
  model = plain;
  model.norm = "layer";
  model.norm_bias = false;
  model.parallel_branches = model.shared_norm = true;
  model.rotary_pairs = "neighbours";
  model.logit_scale = 0.3;
  EXPECT_EQ(family_of_it(model), "cohere");
  model.window = 3;
  model.window_layers = model.rotary_layers = {0, 1, 3};
  EXPECT_EQ(family_of_it(model), "cohere2");
  model = plain;
  model.norm = "layer";
  model.gated = false;
  model.bias = model.attention_bias = model.output_bias = true;
  model.parallel_branches = true;
  EXPECT_EQ(family_of_it(model), "gpt_neox");
  model.head_width = 4;
  model.kv_heads = 2;
  const LlamaLike& neox =
      *std::ranges::find(llama_like_families(), std::string_view("gpt_neox"), &LlamaLike::name);
  model.attention_scale = usual_scale(model);
  EXPECT_THAT(obstacles_to(neox, model), ElementsAre("as many model.kv_heads as heads"));
  model.kv_heads = 4;
  model.shared_norm = true;
  EXPECT_THAT(obstacles_to(neox, model), ElementsAre("model.shared_norm = false"));
}

TEST(MadeFamilyConfigs, SayGemma) {
  ModelConfig model = scratch_model();
  model.positions = "rotary";
  model.norm = "rms";
  model.gated = model.norm_zero_centered = true;
  model.bias = model.attention_bias = model.output_bias = false;
  model.embedding_scale = 4.0;  // of vectors that are 16 wide
  const auto again = [](const ModelConfig& wanted, const std::string& family) {
    const MadeConfig made = make_hub_config(wanted);
    EXPECT_EQ(made.family, family);
    return parse_hub_config(made.text, "again").model;
  };
  EXPECT_TRUE(again(model, "gemma").norm_zero_centered);
  model.norm_place = "both";
  model.attention_scale = 0.2;
  model.attention_softcap = 50.0;
  model.window = 3;
  EXPECT_EQ(again(model, "gemma2").attention_scale, 0.2);
  EXPECT_EQ(again(model, "gemma2").logit_softcap, 0.0) << "none, not what is unsaid";
  model.attention_softcap = 0.0;
  model.query_key_norm = true;
  model.window_layers = {1, 2};
  model.window_rotary_base = 500.0;
  model.rotary_scaling = "linear";
  model.rotary_factor = 2.0;
  EXPECT_EQ(again(model, "gemma3_text").window_rotary_base, 500.0);
  const auto refused = [](const ModelConfig& wanted, const std::string& why) {
    EXPECT_THAT(refusal(ErrorKind::Input, [&] { (void)make_hub_config(wanted); }), HasSubstr(why));
  };
  ModelConfig other = model;
  other.attention_scale = 0.3;
  refused(other, "gemma3_text, would take model.attention_scale = 1 / sqrt(a whole number)");
  other = model;
  other.embedding_scale = 5.0;
  refused(other, "model.embedding_scale = the square root of model.width");
  other = model;
  other.head_width = 4;
  other.window_rotary_base = 0.0;
  const LlamaLike& gemma3 =
      *std::ranges::find(llama_like_families(), std::string_view("gemma3_text"), &LlamaLike::name);
  EXPECT_THAT(obstacles_to(gemma3, other), ElementsAre("a model.window_rotary_base above 0"));
}

}  // namespace
}  // namespace penstock
