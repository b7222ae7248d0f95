// What the config.json of mixtures of experts says, and back.
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

constexpr const char* kDeepseek = R"({"n_routed_experts": 12, "num_experts_per_tok": 4,
 "moe_intermediate_size": 24, "n_shared_experts": 2, "first_k_dense_replace": 1, "moe_layer_freq": 1,
 "norm_topk_prob": false, "scoring_func": "softmax", "aux_loss_alpha": 0.001, "seq_aux": true})";

TEST(HubFamilyConfigs, DeepseekHasASoftmax) {
  const ModelConfig model = model_of(of_family("deepseek", kDeepseek));
  EXPECT_EQ(model.router, "softmax");
  EXPECT_FALSE(model.router_normalised || model.router_correction || model.shared_expert_gate);
  EXPECT_EQ(model.expert_width, 24);
  EXPECT_EQ(model.shared_expert_width, 48);
  EXPECT_THAT(model.dense_layers, ElementsAre(0));
  const auto says = [](const std::string& more, const std::string& what) {
    EXPECT_THAT(refused(of_family("deepseek", with_members(kDeepseek, more))), HasSubstr(what));
  };
  says(R"({"scoring_func": "sigmoid"})", "\"scoring_func\"");
  says(R"({"moe_layer_freq": 2})", "\"moe_layer_freq\"");
  says(R"({"n_group": 2})", "\"n_group\"");
  const std::string alone = with_members(kDeepseek, R"({"n_shared_experts": null})");
  EXPECT_EQ(model_of(of_family("deepseek", alone)).shared_expert_width, 0);
}

// As gpt-oss-20b says it, but for its sizes.
constexpr const char* kGptOss = R"({"num_local_experts": 8, "num_experts_per_tok": 4,
 "experts_per_token": 4, "initial_context_length": 4096, "swiglu_limit": 7.0, "sliding_window": 128,
 "attention_bias": true, "layer_types": ["sliding_attention", "full_attention"],
 "rope_parameters": null, "rope_theta": 150000, "rope_scaling": {"rope_type": "yarn",
 "beta_fast": 32.0, "beta_slow": 1.0, "factor": 32.0, "original_max_position_embeddings": 4096,
 "truncate": false}, "quantization_config": {"quant_method": "mxfp4",
 "modules_to_not_convert": ["lm_head"]}, "output_router_logits": false})";

TEST(HubFamilyConfigs, GptOssHasSinksAndClampedGates) {
  const HubConfig config = parse_hub_config(of_family("gpt_oss", kGptOss), "config.json");
  EXPECT_TRUE(config.mxfp4);
  const ModelConfig& model = config.model;
  EXPECT_TRUE(model.attention_sinks);
  EXPECT_TRUE(model.attention_bias && model.output_bias && model.bias && model.router_bias);
  EXPECT_EQ(model.expert_gate_limit, 7.0);
  EXPECT_EQ(model.experts_per_token, 4);
  EXPECT_TRUE(model.router_normalised);
  EXPECT_EQ(model.window, 128);
  EXPECT_THAT(model.window_layers, ElementsAre(0));
  EXPECT_EQ(model.rotary_scaling, "yarn");
  EXPECT_EQ(model.rotary_base, 150000.0);
  EXPECT_FALSE(model.rotary_truncate);
  const auto says = [](const std::string& more, const std::string& what) {
    EXPECT_THAT(refused(of_family("gpt_oss", with_members(kGptOss, more))), HasSubstr(what))
        << more;
  };
  says(R"({"swiglu_alpha": 1.5})", "\"swiglu_alpha\"");
  says(R"({"hidden_act": "gelu"})", "\"hidden_act\"");
  says(R"({"experts_per_token": 2})", "\"experts_per_token\"");
  says(R"({"rope_scaling": null})", "\"rope_parameters\" is missing");
  says(R"({"quantization_config": {"quant_method": "gptq"}})", "\"quantization_config\"");
  says(R"({"quantization_config": "mxfp4"})", "\"quantization_config\"");
  const std::string quantised =
      with_members(kMixtral, R"({"quantization_config": {"quant_method": "mxfp4"}})");
  EXPECT_THAT(refused(of_family("mixtral", quantised)), HasSubstr("\"quantization_config\""));
}

// Families with latent attention are refused by name.
TEST(HubFamilyConfigs, OthersAreRefusedByName) {
  for (const char* family : {"deepseek_v2", "deepseek_v3"}) {
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
  ModelConfig oss = comes_back("gpt_oss", kGptOss);
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
  oss.attention_sinks = false;
  EXPECT_THAT(refusal(ErrorKind::Input, [&] { (void)make_hub_config(oss); }),
              HasSubstr("gpt_oss, would take model.attention_sinks = true"));
  ModelConfig other = mixtral;
  other.expert_gate_limit = 7.0;
  EXPECT_THAT(refusal(ErrorKind::Input, [&] { (void)make_hub_config(other); }),
              HasSubstr("mixtral, would take model.expert_gate_limit = 0"));
  other = mixtral;
  other.router = "sigmoid";
  EXPECT_THAT(refusal(ErrorKind::Input, [&] { (void)make_hub_config(other); }),
              HasSubstr("the nearest, mixtral, would take model.router = \"softmax\""));
  other = mixtral;
  other.experts = 0;
  other.shared_expert_width = 5;  // counts with experts alone
  EXPECT_EQ(make_hub_config(other).family, "llama");
}

}  // namespace
}  // namespace penstock
