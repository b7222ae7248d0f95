// What the config.json of families says that are like Llama but for a few members.
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
  EXPECT_TRUE(yarn.rotary_truncate);
  const ModelConfig exact = model_of(with(R"({"rope_type": "yarn", "factor": 4.0,
 "truncate": false, "original_max_position_embeddings": 16})"));
  EXPECT_FALSE(exact.rotary_truncate);
  EXPECT_NE(make_hub_config(exact).text.find("\"truncate\": false"), std::string::npos);
  const ModelConfig dynamic = model_of(with(R"({"rope_type": "dynamic", "factor": 4.0})"));
  EXPECT_EQ(dynamic.rotary_scaling, "dynamic");
  EXPECT_EQ(dynamic.rotary_original, dynamic.context);
  EXPECT_THAT(refused(with(R"({"rope_type": "proportional", "factor": 2.0})")),
              HasSubstr("only default, linear, llama3, yarn, longrope and dynamic"));
}

}  // namespace
}  // namespace penstock
