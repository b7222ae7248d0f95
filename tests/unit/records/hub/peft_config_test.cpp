// What peft calls adapters, and adapter_config.json: what is read of it, and refused by name.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "runtime/records/hub/adapters/adapter_folder.h"
#include "runtime/records/hub/adapters/peft_names.h"
#include "tests/unit/records/checkpoint/bytes.h"
#include "tests/unit/records/hub/folders.h"

namespace penstock {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

using Words = std::vector<std::string>;

TEST(PeftNames, OfAnAdapter) {
  EXPECT_EQ(peft_name(hub_family("llama"), "blocks.12.attention.query.lora_a"),
            "base_model.model.model.layers.12.self_attn.q_proj.lora_A.weight");
  EXPECT_EQ(peft_name(hub_family("qwen3"), "blocks.0.feed_forward.in.lora_b"),
            "base_model.model.model.layers.0.mlp.up_proj.lora_B.weight");
  EXPECT_EQ(peft_name(hub_family("gpt2"), "blocks.1.feed_forward.out.lora_b"),
            "base_model.model.transformer.h.1.mlp.c_proj.lora_B.weight");
  EXPECT_THAT(
      refusal(ErrorKind::Input,
              [] { (void)peft_name(hub_family("gpt2"), "blocks.0.attention.query.lora_a"); }),
      AllOf(HasSubstr("blocks.0.attention.query"), HasSubstr("c_attn"), HasSubstr("--merge")));
}

TEST(PeftNames, OfTargets) {
  EXPECT_THAT(targets_meant("q_proj", "here"), ElementsAre("query"));
  EXPECT_THAT(targets_meant("mlp.up_proj", "here"), ElementsAre("up"));
  EXPECT_THAT(targets_meant("c_proj", "here"), ElementsAre("output", "down"));
  EXPECT_THAT(targets_meant("mlp.c_proj", "here"), ElementsAre("down"));
  // Names as peft writes "all-linear" for a network without names that repeat.
  EXPECT_THAT(targets_meant("model.layers.10.self_attn.k_proj", "here"), ElementsAre("key"));
  EXPECT_THAT(targets_meant("proj", "here"), IsEmpty());  // no end from a dot on
  EXPECT_THAT(targets_meant("lm_head", "here"), IsEmpty());
  EXPECT_THAT(refusal(ErrorKind::Input, [] { (void)targets_meant("c_attn", "a.json"); }),
              AllOf(HasSubstr("a.json: \"c_attn\""), HasSubstr("one adapter for all")));
}

// No entry means a matrix that has no adapter.
TEST(PeftNames, TargetsOfAdapters) {
  const HubFamily& gpt2 = hub_family("gpt2");
  const Words down = {"blocks.0.feed_forward.out.lora_a", "blocks.1.feed_forward.out.lora_a"};
  EXPECT_THAT(peft_targets(gpt2, down), ElementsAre("mlp.c_proj"));
  const Words both = {"blocks.0.feed_forward.out.lora_a", "blocks.0.attention.output.lora_b"};
  EXPECT_THAT(peft_targets(gpt2, both), ElementsAre("c_proj"));
  const Words llama = {"blocks.0.attention.value.lora_a", "blocks.0.attention.query.lora_b"};
  EXPECT_THAT(peft_targets(hub_family("llama"), llama), ElementsAre("q_proj", "v_proj"));
}

const std::string kPeftConfig =
    R"({"alora_invocation_tokens": null, "alpha_pattern": {}, "auto_mapping": null,
 "base_model_name_or_path": "somewhere", "bias": "none", "fan_in_fan_out": false,
 "inference_mode": true, "init_lora_weights": true, "layer_replication": null,
 "loftq_config": {}, "lora_alpha": 32, "lora_bias": false, "lora_dropout": 0.05,
 "megatron_core": "megatron.core", "modules_to_save": null, "peft_type": "LORA",
 "peft_version": "0.21.2", "qalora_group_size": 16, "r": 4, "rank_pattern": {}, "revision": null,
 "target_modules": ["v_proj", "q_proj", "model.layers.0.mlp.gate_proj"],
 "task_type": "CAUSAL_LM", "use_dora": false, "use_rslora": false, "not_yet_invented": false})";

LoraConfig lora_of(const std::string& text) {
  return parse_adapter_config(text, "adapter_config.json");
}

TEST(AdapterConfigs, AsPeftWritesThem) {
  const LoraConfig lora = lora_of(kPeftConfig);
  EXPECT_EQ(lora.rank, 4);
  EXPECT_EQ(lora.alpha, 32.0);
  EXPECT_EQ(lora.dropout, 0.05);
  EXPECT_THAT(lora.targets, ElementsAre("query", "value", "gate"));
  EXPECT_EQ(lora.from, "");
  // alpha / sqrt(rank) there.
  EXPECT_EQ(lora_of(replaced(kPeftConfig, "\"use_rslora\": false", "\"use_rslora\": true")).alpha,
            64.0);
  const LoraConfig defaults =
      lora_of(R"({"peft_type": "LORA", "target_modules": "all-linear", "lora_dropout": 0})");
  EXPECT_EQ(defaults.rank, 8);
  EXPECT_EQ(defaults.alpha, 8.0);
  EXPECT_THAT(defaults.targets, ElementsAre("all-linear"));
}

TEST(AdapterConfigs, WithWhatIsNoMatrixOfLayersAreRefused) {
  for (const char* name : {"lm_head", "embed_tokens"}) {
    const std::string both = R"("v_proj", ")" + std::string(name) + R"(", "q_proj")";
    EXPECT_THAT(
        refusal(ErrorKind::Input,
                [&] { (void)lora_of(replaced(kPeftConfig, R"("v_proj", "q_proj")", both)); }),
        AllOf(HasSubstr(name), HasSubstr("adapters of embeddings and output layers are "
                                         "not supported")));
  }
}

TEST(AdapterConfigs, WhatIsNotPlainIsRefusedByName) {
  const std::string list = R"(["v_proj", "q_proj", "model.layers.0.mlp.gate_proj"])";
  const struct {
    std::string from, to, key;
  } kCases[] = {
      {"\"use_dora\": false", "\"use_dora\": true", "use_dora"},
      {"\"modules_to_save\": null", "\"modules_to_save\": [\"lm_head\"]", "modules_to_save"},
      {"\"bias\": \"none\"", "\"bias\": \"lora_only\"", "bias"},
      {"\"rank_pattern\": {}", "\"rank_pattern\": {\"q_proj\": 2}", "rank_pattern"},
      {"\"alpha_pattern\": {}", "\"alpha_pattern\": {\"q_proj\": 2}", "alpha_pattern"},
      {"\"lora_bias\": false", "\"lora_bias\": true", "lora_bias"},
      {"\"layer_replication\": null", "\"layers_to_transform\": [0]", "layers_to_transform"},
      {"\"init_lora_weights\": true", "\"init_lora_weights\": \"pissa\"", "init_lora_weights"},
      {"\"peft_type\": \"LORA\"", "\"peft_type\": \"IA3\"", "peft_type"},
      {"\"task_type\": \"CAUSAL_LM\"", "\"task_type\": \"SEQ_CLS\"", "task_type"},
      {"\"not_yet_invented\": false", "\"not_yet_invented\": 3", "not_yet_invented"},
      {"\"lora_dropout\": 0.05", "\"lora_dropout\": 1.5", "lora_dropout"},
      {"\"r\": 4", "\"r\": 0", "r"},
      {list, R"(".*proj")", "target_modules"},
      {list, R"([])", "target_modules"},
      {list, R"(["lm_head"])", "target_modules"},
      {list, R"(["c_attn"])", "target_modules"},
  };
  for (const auto& one : kCases) {
    const std::string said =
        refusal(ErrorKind::Input, [&] { (void)lora_of(replaced(kPeftConfig, one.from, one.to)); });
    EXPECT_THAT(said, HasSubstr("adapter_config.json: \"" + one.key + "\"")) << one.to;
  }
  const TemporaryFolder here;
  EXPECT_THAT(refusal(ErrorKind::Input, [&] { (void)read_adapter_config(here / "."); }),
              HasSubstr("has no adapter_config.json"));
}

TEST(AdapterConfigs, ComeBackAsTheyWere) {
  const Words adapters = {"blocks.0.attention.output.lora_a", "blocks.0.feed_forward.in.lora_a"};
  LoraConfig lora;
  lora.rank = 2;
  lora.dropout = 0.25;
  for (const double alpha : {16.0, 5.5}) {
    lora.alpha = alpha;
    const std::string text = adapter_config_text(lora, hub_family("gpt2"), adapters, "/base");
    const auto document = nlohmann::json::parse(text);
    EXPECT_EQ(document["lora_alpha"].is_number_integer(), alpha == std::floor(alpha));
    EXPECT_EQ(document["base_model_name_or_path"], "/base");
    EXPECT_EQ(document["fan_in_fan_out"], true);
    const LoraConfig again = lora_of(text);
    EXPECT_EQ(again.rank, 2);
    EXPECT_EQ(again.alpha, alpha);
    EXPECT_EQ(again.dropout, 0.25);
    EXPECT_THAT(again.targets, ElementsAre("output", "up"));
  }
}

}  // namespace
}  // namespace penstock
