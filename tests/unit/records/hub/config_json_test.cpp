// config.json of all families: what follows from it, and what is refused by name.
#include "runtime/records/hub/config/config_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/records/hub/config/made/made_config.h"
#include "tests/unit/records/hub/configs.h"

namespace penstock {
namespace {

using testing::ElementsAre;
using testing::ElementsAreArray;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(HubConfigs, Gpt2) {
  const ModelConfig model = model_of(kGpt2Config);
  EXPECT_EQ(model.kind, "decoder");
  EXPECT_EQ(model.layers, 2);
  EXPECT_EQ(model.width, 4);
  EXPECT_EQ(model.kv_heads, 2);
  EXPECT_EQ(model.head_width, 2);
  EXPECT_EQ(model.hidden, 16);
  EXPECT_EQ(model.context, 5);
  EXPECT_EQ(model.vocabulary, 7);
  EXPECT_EQ(model.activation, "gelu-tanh");
  EXPECT_EQ(model.norm, "layer");
  EXPECT_EQ(model.positions, "learned");
  EXPECT_TRUE(model.tied_embedding && model.bias && model.attention_bias && model.output_bias);
  EXPECT_FALSE(model.gated);
  EXPECT_EQ(model.dropout, 0.0);
}

TEST(HubConfigs, Llama) {
  const ModelConfig model = model_of(kLlamaConfig);
  EXPECT_EQ(model.heads, 4);
  EXPECT_EQ(model.kv_heads, 2);
  EXPECT_EQ(model.head_width, 8);
  EXPECT_EQ(model.activation, "silu");
  EXPECT_TRUE(model.gated);
  EXPECT_EQ(model.norm, "rms");
  EXPECT_EQ(model.norm_epsilon, 1e-6);
  EXPECT_EQ(model.positions, "rotary");
  EXPECT_EQ(model.rotary_base, 500000.0);
  EXPECT_EQ(model.rotary_scaling, "llama3");
  EXPECT_EQ(model.rotary_factor, 8.0);
  EXPECT_EQ(model.rotary_low, 1.0);
  EXPECT_EQ(model.rotary_high, 4.0);
  EXPECT_EQ(model.rotary_original, 32);
  EXPECT_FALSE(model.tied_embedding || model.bias || model.attention_bias || model.output_bias);
  const ModelConfig biased = model_of(
      replaced(replaced(kLlamaConfig, "\"attention_bias\": false", "\"attention_bias\": true"),
               "\"head_dim\": 8", "\"head_dim\": null"));
  EXPECT_TRUE(biased.attention_bias && biased.output_bias && !biased.bias);
  EXPECT_EQ(biased.head_width, 8);
}

// What older versions of transformers wrote of the same network.
TEST(HubConfigs, OlderRotaryForms) {
  const std::string now = model_of(kLlamaConfig).rotary_scaling;
  std::string older = replaced(kLlamaConfig, R"("rope_parameters": {)", R"("rope_scaling": {)");
  older = replaced(older, R"("rope_theta": 500000.0, )", "");
  older = replaced(older, R"("vocab_size")", R"("rope_theta": 500000.0, "vocab_size")");
  const ModelConfig model = model_of(older);
  EXPECT_EQ(model.rotary_scaling, now);
  EXPECT_EQ(model.rotary_base, 500000.0);
  EXPECT_EQ(model.rotary_original, 32);

  std::string linear = replaced(older, R"("rope_type": "llama3")", R"("type": "linear")");
  for (const std::string key : {R"("high_freq_factor": 4.0, )", R"("low_freq_factor": 1.0, )"}) {
    linear = replaced(linear, key, "");
  }
  // A member that this form does not have may change it.
  EXPECT_THAT(refused(linear), HasSubstr("original_max_position_embeddings"));
  linear = replaced(linear, R"("original_max_position_embeddings": 32,)", "");
  EXPECT_EQ(model_of(linear).rotary_scaling, "linear");
  EXPECT_EQ(model_of(linear).rotary_factor, 8.0);
}

const std::string kQwen =
    replaced(replaced(kLlamaConfig, "\"llama\"", "\"qwen2\""), R"("attention_bias": false,)",
             R"("use_sliding_window": false, "sliding_window": 16,
 "max_window_layers": 28, "layer_types": ["full_attention", "full_attention"],)");

TEST(HubConfigs, MistralAndQwen) {
  const std::string mistral = replaced(replaced(kLlamaConfig, "\"llama\"", "\"mistral\""),
                                       R"("attention_bias": false,)", R"("sliding_window": 16,)");
  const std::string without_bias = replaced(mistral, R"("mlp_bias": false,)", "");
  EXPECT_EQ(model_of(without_bias).window, 16);
  EXPECT_EQ(
      model_of(replaced(without_bias, "\"sliding_window\": 16", "\"sliding_window\": null")).window,
      0);
  const std::string qwen2 = replaced(kQwen, R"("mlp_bias": false,)", "");
  const ModelConfig two = model_of(qwen2);
  EXPECT_TRUE(two.attention_bias && !two.output_bias && !two.bias && !two.query_key_norm);
  EXPECT_EQ(two.window, 0);
  const std::string windowed =
      replaced(qwen2, "\"use_sliding_window\": false", "\"use_sliding_window\": true");
  EXPECT_EQ(model_of(windowed).window, 0);  // of no layer
  const std::string all = replaced(windowed, R"(["full_attention", "full_attention"])",
                                   R"(["sliding_attention", "sliding_attention"])");
  EXPECT_EQ(model_of(all).window, 16);
  EXPECT_THAT(model_of(all).window_layers, IsEmpty());
  const std::string qwen3 = replaced(replaced(qwen2, "\"qwen2\"", "\"qwen3\""), R"("use_sliding)",
                                     R"("attention_bias": false, "use_sliding)");
  const ModelConfig three = model_of(qwen3);
  EXPECT_TRUE(three.query_key_norm && !three.attention_bias);
}

// Windows follow layer_types, or else begin at layer max_window_layers, as in Qwen2Config of
// transformers.
TEST(HubConfigs, WindowsOfSomeLayers) {
  std::string text = replaced(kQwen, R"("mlp_bias": false,)", "");
  text = replaced(text, "\"use_sliding_window\": false", "\"use_sliding_window\": true");
  text = replaced(text, "\"num_hidden_layers\": 2", "\"num_hidden_layers\": 4");
  const std::string types = R"("layer_types": ["full_attention", "full_attention"])";
  const std::string some = replaced(text, types, R"("layer_types": ["sliding_attention",
 "full_attention", "sliding_attention", "full_attention"])");
  EXPECT_EQ(model_of(some).window, 16);
  EXPECT_THAT(model_of(some).window_layers, ElementsAre(0, 2));
  EXPECT_EQ(model_of(replaced(some, "_window\": true", "_window\": false")).window, 0);
  EXPECT_THAT(refused(text), HasSubstr("\"layer_types\" must name"));
  EXPECT_THAT(refused(replaced(some, R"(["sliding_)", R"(["chunked_)")),
              HasSubstr("not supported"));
  EXPECT_THAT(refused(replaced(some, "\"sliding_window\": 16,", "\"sliding_window\": null,")),
              HasSubstr("\"sliding_window\" is null, though"));

  const std::string from = replaced(text, types, R"("layer_types": null)");
  EXPECT_EQ(model_of(from).window, 0) << "28 of 4 layers have none";
  const auto from_layer = [&](const std::string& first) {
    return model_of(replaced(from, "\"max_window_layers\": 28", "\"max_window_layers\": " + first));
  };
  EXPECT_THAT(from_layer("1").window_layers, ElementsAre(1, 2, 3));
  EXPECT_EQ(from_layer("0").window, 16);
  EXPECT_THAT(from_layer("0").window_layers, IsEmpty()) << "all";
  const std::string deep = replaced(replaced(from, "\"max_window_layers\": 28,", ""),
                                    "\"num_hidden_layers\": 4", "\"num_hidden_layers\": 30");
  EXPECT_THAT(model_of(deep).window_layers, ElementsAre(28, 29)) << "what is taken unsaid";
}

struct Change {
  const char* from;
  const char* to;
  const char* says;
};

TEST(HubConfigs, RefuseByNameWhatChangesTheNetwork) {
  const std::vector<Change> changes = {
      {"\"llama\"", "\"bloom\"", "\"model_type\" is \"bloom\""},
      {"\"llama\"", "7", "\"model_type\" must be a text"},
      {"LlamaForCausalLM", "LlamaForSequenceClassification", "is no language model"},
      {"\"silu\"", "\"quick_gelu\"", "\"hidden_act\" is \"quick_gelu\""},
      {"\"llama3\"", "\"proportional\"",
       "config.json, rope_parameters: \"rope_type\" is \"proportional\""},
      {"\"factor\": 8.0", "\"factor\": 0.5", "\"factor\" must be at least 1"},
      {"\"factor\": 8.0", "\"beta_fast\": 32", "\"factor\" is missing"},
      {"\"rope_theta\"", "\"partial_rotary_factor\": 0.5, \"rope_theta\"", "partial_rotary_factor"},
      {"\"rope_parameters\"", "\"rope_theta\": 10000.0, \"rope_parameters\"",
       "\"rope_theta\" is not"},
      {"\"mlp_bias\"", "\"quantization_config\": {}, \"mlp_bias\"", "quantised"},
      {"\"mlp_bias\"", "\"attn_logit_softcapping\": 50.0, \"mlp_bias\"",
       "\"attn_logit_softcapping\" is 50.0, which says something of the network"},
      {"\"head_dim\": 8", "\"head_dim\": 7", "\"head_dim\" is odd"},
      {"\"num_key_value_heads\": 2", "\"num_key_value_heads\": 3", "does not divide"},
      {"\"hidden_size\": 32", "\"hidden_size\": 0", "\"hidden_size\" must be a whole number"},
      {"\"hidden_size\": 32", "\"hidden_size\": 1e30", "\"hidden_size\" must be a whole number"},
      {"\"hidden_size\": 32,", "", "\"hidden_size\" is missing"},
      {"\"num_hidden_layers\": 2", "\"num_hidden_layers\": 1000000", "too many layers"},
      {"\"rms_norm_eps\": 1e-06", "\"rms_norm_eps\": 1e999", ""},
  };
  for (const Change& change : changes) {
    const std::string text = replaced(kLlamaConfig, change.from, change.to);
    if (*change.says == '\0') {
      EXPECT_THROW((void)parse_hub_config(text, "config.json"), Error) << change.to;
    } else {
      EXPECT_THAT(refused(text), HasSubstr(change.says));
    }
  }
  EXPECT_THAT(refused(replaced(kGpt2Config, "\"scale_attn_weights\": true",
                               "\"scale_attn_by_inverse_layer_idx\": true")),
              HasSubstr("\"scale_attn_by_inverse_layer_idx\" is true"));
}

// What Hugging Face's folders say beside the network: published keys of Qwen2.5 (use_mrope),
// SmolLM2 (is_llama_config, rope_interleaved, transformers.js_config), Ministral and tools.
TEST(HubConfigs, PassOverWhatSwitchesOffOrChangesNothing) {
  for (const char* const said :
       {R"("unheard_of": null)", R"("_attn_implementation": "eager")", R"("use_mrope": false)",
        R"("rope_interleaved": false)", R"("is_llama_config": true)", R"("mlp_only_layers": [])",
        R"("transformers.js_config": {"dtype": "q4"})", R"("auto_map": {"AutoConfig": "c.C"})",
        R"("unsloth_fixed": true, "unsloth_version": "2025.1.1")", R"("logits_scaling": 1.0)",
        R"("final_logit_softcapping": 0)", R"("embd_pdrop": 0.1, "ep_size": 1)",
        R"("note": "", "router": {}, "neftune_noise_alpha": 5.0, "max_sequence_length": 64)",
        R"("layer_types": ["full_attention", "full_attention"])"}) {
    const std::string text =
        replaced(kLlamaConfig, "\"mlp_bias\"", said + std::string(", \"mlp_bias\""));
    EXPECT_EQ(model_of(text).layers, 2) << said;
  }
  const std::string scaling = replaced(kLlamaConfig, R"("factor": 8.0)",
                                       R"("mscale": 1.0, "truncate": false, "factor": 8)");
  EXPECT_EQ(model_of(scaling).rotary_factor, 8.0);
}

// The same keys where they say something, by name.
TEST(HubConfigs, RefuseThemWhereTheySaySomething) {
  for (const char* const said :
       {R"("use_mrope": true)", R"("rope_interleaved": true)", R"("logits_scaling": 8.0)",
        R"("num_experts": 1)", R"("mlp_only_layers": [1])", R"("clip_qkv": "8")",
        R"("layer_types": ["full_attention", "sliding_attention"])"}) {
    const std::string text =
        replaced(kLlamaConfig, "\"mlp_bias\"", said + std::string(", \"mlp_bias\""));
    const std::string key = std::string(said).substr(0, std::string(said).find(':'));
    EXPECT_THAT(refused(text), testing::AllOf(HasSubstr("config.json: " + key),
                                              testing::Not(HasSubstr("remove"))));
  }
}

TEST(HubConfigs, MistralsLayerTypesSayWhatItsWindowSays) {
  std::string text = replaced(kLlamaConfig, "\"llama\"", "\"mistral\"");
  text = replaced(text, R"("mlp_bias": false,)", R"("sliding_window": 16,
 "layer_types": ["sliding_attention", "sliding_attention"],)");
  EXPECT_EQ(model_of(text).window, 16);
  EXPECT_THAT(refused(replaced(text, R"(["sliding)", R"(["full)")), HasSubstr("\"layer_types\""));
  const std::string none = replaced(text, R"("sliding_window": 16)", R"("sliding_window": null)");
  EXPECT_THAT(refused(none), HasSubstr("\"layer_types\""));
  EXPECT_EQ(model_of(replaced(none, R"(["sliding_attention", "sliding_attention"])",
                              R"(["full_attention", "full_attention"])"))
                .window,
            0);
}

TEST(HubConfigs, OfAFolderWithoutOne) {
  const TemporaryFolder here;
  const std::string said =
      refusal(ErrorKind::Input, [&] { (void)read_hub_config(here / "nothing"); });
  EXPECT_THAT(said, HasSubstr("nothing has no config.json"));
  put(here / "config.json", "{\"model_type\": \"llama\",");
  (void)refusal(ErrorKind::Data, [&] { (void)read_hub_config(here / ""); });
}

using LayerNumbers = std::vector<int64_t>;

// Every network that a family says comes back from the config.json that is made of it.
TEST(MadeConfigs, SayTheSameNetwork) {
  ModelConfig gpt2 = scratch_model();
  gpt2.positions = "learned";
  gpt2.activation = "gelu-tanh";
  EXPECT_EQ(make_hub_config(gpt2).family, "gpt2");
  ModelConfig model = scratch_model();
  model.positions = "rotary";
  model.norm = "rms";
  model.gated = true;
  model.kv_heads = 2;
  model.rotary_scaling = "llama3";
  model.rotary_factor = 8.0;
  model.tied_embedding = true;
  EXPECT_EQ(make_hub_config(model).family, "llama") << "with all its biases";
  model.bias = model.output_bias = false;
  EXPECT_EQ(make_hub_config(model).family, "qwen2");
  model.window = 5;
  const HubConfig again = parse_hub_config(make_hub_config(model).text, "again");
  EXPECT_EQ(again.family, "qwen2");
  EXPECT_EQ(again.model.window, 5);
  EXPECT_EQ(again.model.rotary_factor, 8.0);
  EXPECT_EQ(again.model.hidden, 64);
  EXPECT_EQ(again.model.vocabulary, 21);
  for (const LayerNumbers& some :
       {LayerNumbers{0, 2}, LayerNumbers{2, 3}, LayerNumbers{0, 1, 2, 3}}) {
    model.window_layers = some;
    const ModelConfig back = parse_hub_config(make_hub_config(model).text, "back").model;
    EXPECT_EQ(back.window, 5);
    EXPECT_THAT(back.window_layers, ElementsAreArray(some.size() < 4 ? some : LayerNumbers{}));
  }
  model.attention_bias = false;
  EXPECT_EQ(make_hub_config(model).family, "mistral");
  model.query_key_norm = true;
  EXPECT_EQ(make_hub_config(model).family, "qwen3");
}

TEST(MadeConfigs, NameWhatNoFamilyHas) {
  const auto refused = [](const ModelConfig& model, const std::string& why) {
    try {
      (void)make_hub_config(model);
      ADD_FAILURE() << why;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::Input);
      EXPECT_THAT(error.what(), testing::HasSubstr(why));
    }
  };
  ModelConfig model = scratch_model();
  refused(model, "gpt2, would take model.positions = \"learned\"");
  model.positions = "learned";
  model.window = 4;
  model.final_norm = false;
  refused(model, "would take model.final_norm = true, model.window = 0");
  // Mistral's window is of all layers; without biases and norms no other family is as near.
  model = scratch_model();
  model.positions = "rotary";
  model.norm = "rms";
  model.gated = true;
  model.bias = model.attention_bias = model.output_bias = false;
  model.window = 4;
  model.window_layers = {1};
  model.output_bias = true;
  refused(model, "ministral, would take model.output_bias = false");
  model.output_bias = false;
  model.window_layers = {};
  model.norm_place = "both";
  refused(model, "mistral, would take model.norm_place = \"before\"");
  model.kind = "transformer-lm";
  refused(model, "model.kind");
}

}  // namespace
}  // namespace penstock
