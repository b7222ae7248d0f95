// What a key means that config.json does not have: what transformers means by it, or nothing, and
// the file is refused. unsaid.json has every key of every family; tests/python/hub_test.py compares
// it with the transformers that is installed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <tuple>

#include "runtime/records/hub/config/config_json.h"
#include "tests/unit/records/hub/folders.h"

namespace penstock {
namespace {

using nlohmann::json;
using testing::HasSubstr;

json unsaid_table() {
  return json::parse(read_text(PENSTOCK_HUB_UNSAID, 1 << 20, FileOwner::User));
}

auto facts_of(const json& document) {
  const ModelConfig m = parse_hub_config(document.dump(), "config.json").model;
  return std::tuple(m.layers, m.width, m.heads, m.kv_heads, m.head_width, m.hidden, m.context,
                    m.vocabulary, m.activation, m.attention_bias, m.output_bias, m.bias,
                    m.tied_embedding, m.norm_epsilon, m.rotary_base, m.window, m.window_layers,
                    m.embedding_scale, m.residual_scale, m.attention_scale, m.logit_scale,
                    m.rotary_layers, m.rotary_width, m.positions, m.window_rotary_base,
                    m.attention_softcap, m.logit_softcap, m.experts, m.experts_per_token,
                    m.expert_width, m.shared_expert_width, m.router_normalised, m.router_scale,
                    m.query_key_norm, m.dense_layers, m.parallel_branches, m.expert_gate_limit);
}

TEST(UnsaidKeys, MeanWhatTransformersTakesOrAreRefused) {
  const json all = unsaid_table();
  for (const auto& [family, table] : all.items()) {
    json whole = table["config"];
    whole["model_type"] = family;
    EXPECT_EQ(table["config"].size(), table["unsaid"].size()) << family << ": each key has a row";
    for (const auto& [key, meaning] : table["unsaid"].items()) {
      json without = whole;
      ASSERT_EQ(without.erase(key), 1U) << family << " " << key;
      if (meaning == "refused") {
        EXPECT_THAT(refusal(ErrorKind::Input, [&] { (void)facts_of(without); }),
                    HasSubstr("\"" + key + "\" is missing"))
            << family;
        continue;
      }
      json said = whole;
      said[key] = meaning;
      EXPECT_EQ(facts_of(without), facts_of(said)) << family << " " << key;
      EXPECT_NE(facts_of(without), facts_of(whole)) << family << " " << key << " shows nothing";
    }
  }
}

// Python's None is no absence: of windows it says that there are none.
TEST(UnsaidKeys, AreNotNull) {
  const json table = unsaid_table();
  const auto with_null = [&](const std::string& family, const std::string& key) {
    json document = table[family]["config"];
    document["model_type"] = family;
    document[key] = nullptr;
    return document.dump();
  };
  EXPECT_EQ(parse_hub_config(with_null("mistral", "sliding_window"), "x").model.window, 0);
  EXPECT_EQ(parse_hub_config(with_null("llama", "num_key_value_heads"), "x").model.kv_heads, 64);
  EXPECT_EQ(parse_hub_config(with_null("gpt2", "n_inner"), "x").model.hidden, 32);
  const std::pair<const char*, const char*> refused[] = {
      {"qwen2", "sliding_window"},    {"qwen2", "use_sliding_window"},
      {"qwen3", "max_window_layers"}, {"llama", "mlp_bias"},
      {"llama", "rope_theta"},        {"gpt2", "tie_word_embeddings"}};
  for (const auto& [family, key] : refused) {
    const std::string text = with_null(family, key);
    EXPECT_THAT(refusal(ErrorKind::Input, [&] { (void)parse_hub_config(text, "x"); }),
                HasSubstr("\"" + std::string(key) + "\" is null"))
        << family;
  }
}

}  // namespace
}  // namespace penstock
