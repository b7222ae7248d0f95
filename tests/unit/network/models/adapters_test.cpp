// The [lora] section: which parameters a network gets by it, and that nothing else is trained.
#include "runtime/network/models/adapters.h"

#include <algorithm>
#include <set>

#include "runtime/network/autograd/name_patterns.h"
#include "runtime/network/layers/parameter_set.h"
#include "runtime/network/models/active.h"
#include "runtime/network/models/adapter_names.h"
#include "tests/unit/network/models/configs.h"

namespace penstock {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

ModelConfig decoder_config(bool gated, const std::vector<std::string>& targets) {
  ModelConfig config = transformer_config();
  config.kind = "decoder";
  config.layers = 1;
  config.gated = gated;
  config.lora = {.rank = 2, .targets = targets};
  return config;
}

std::vector<std::string> names_of_parameters(const ModelConfig& config) {
  const Sequential model = build_model(config, 0, 0);
  ParameterSet all;
  for (const auto& layer : model.layers) layer->declare(all);
  std::vector<std::string> names;
  for (const Parameter& p : all.declared().parameters) names.push_back(p.name);
  return names;
}

// The layers that have adapters, without "blocks.0.".
std::vector<std::string> adapted(const ModelConfig& config) {
  std::vector<std::string> layers;
  for (const std::string& name : names_of_parameters(config)) {
    if (name.ends_with(kAdapterA)) layers.push_back(layer_of(name).substr(9));
  }
  return layers;
}

TEST(AdaptersOfModels, AreBesideTheTargets) {
  EXPECT_THAT(adapted(decoder_config(false, {"query", "value"})),
              ElementsAre("attention.query", "attention.value"));
  EXPECT_THAT(
      adapted(decoder_config(false, {"down", "up", "key", "output"})),
      ElementsAre("attention.key", "attention.output", "feed_forward.in", "feed_forward.out"));
  EXPECT_THAT(adapted(decoder_config(true, {"all-linear"})),
              ElementsAre("attention.query", "attention.key", "attention.value", "attention.output",
                          "feed_forward.gate", "feed_forward.in", "feed_forward.out"));
  ModelConfig plain = decoder_config(false, {"all-linear"});
  plain.kind = "transformer-lm";
  EXPECT_EQ(adapted(plain).size(), 6U);
  plain.lora.rank = 0;
  EXPECT_THAT(adapted(plain), ElementsAre());
}

TEST(AdaptersOfModels, OfAMixtureAreBesideAttentionRouterAndExperts) {
  ModelConfig config = decoder_config(true, {"output", "query", "router", "experts"});
  config.bias = false;
  config.experts = 4;
  EXPECT_THAT(adapted(config), ElementsAre("attention.query", "attention.output", "experts.router",
                                           "experts.gate_up", "experts.out"));
  const int64_t with = idle_parameters(config);
  config.lora.rank = 0;
  const int64_t width = config.width;
  const int64_t hidden = 4 * width;
  EXPECT_EQ(with - idle_parameters(config), 2 * 2 * (2 * width + 3 * hidden))
      << "two experts without the token, adapters of rank 2";
}

TEST(AdaptersOfModels, AreAllThatIsTrained) {
  std::set<std::string> trained;
  std::set<std::string> of_adapters;
  for (const std::string& name : names_of_parameters(decoder_config(true, {"query", "gate"}))) {
    if (!matches_any(name, all_but_adapters())) trained.insert(name);
    if (is_of_adapter(name)) of_adapters.insert(name);
  }
  EXPECT_EQ(trained, of_adapters);
  EXPECT_EQ(trained,
            (std::set<std::string>{
                "blocks.0.attention.query.lora_a", "blocks.0.attention.query.lora_b",
                "blocks.0.feed_forward.gate.lora_a", "blocks.0.feed_forward.gate.lora_b"}));
}

TEST(AdaptersOfModels, RefuseTargetsThatNoLayerHas) {
  const auto refused = [](const ModelConfig& config) {
    return input_error_of([&] { (void)build_model(config, 0, 0); });
  };
  EXPECT_THAT(refused(decoder_config(false, {"query", "gate"})),
              HasSubstr("lora.targets: no layer of this network is a 'gate'; there are query, key, "
                        "value, output, up, down, all-linear"));
  EXPECT_THAT(refused(decoder_config(true, {"vlaue"})), HasSubstr("did you mean 'value'?"));
  EXPECT_THAT(refused(decoder_config(true, {})), HasSubstr("lora.targets is empty"));
  ModelConfig experts = decoder_config(true, {"query", "down"});
  experts.bias = false;
  experts.experts = 4;
  EXPECT_THAT(refused(experts), HasSubstr("no layer of this network is a 'down'; there are query, "
                                          "key, value, output, router, experts"));
  experts.lora.targets = {"experts"};
  experts.lora.dropout = 0.1;
  EXPECT_THAT(refused(experts), HasSubstr("lora.dropout: adapters beside routers and experts"));
  EXPECT_THAT(refused(decoder_config(true, {"router"})), HasSubstr("is a 'router'"));
  ModelConfig image = resnet_config("cifar", 8);
  image.lora.rank = 4;
  EXPECT_THAT(refused(image), HasSubstr("a network of the kind resnet has no adapters"));
}

}  // namespace
}  // namespace penstock
