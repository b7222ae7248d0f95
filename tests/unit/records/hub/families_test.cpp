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
