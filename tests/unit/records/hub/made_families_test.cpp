// A network that came from no folder becomes one of a family, and its config.json says so.
#include "runtime/records/hub/config/made/made_families.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string_view>

#include "runtime/records/hub/config/made/made_config.h"
#include "tests/unit/records/hub/configs.h"

namespace penstock {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

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
