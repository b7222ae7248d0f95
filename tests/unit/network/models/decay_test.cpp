// The parameters that weight decay shrinks: what a layer declares decides, in every kind of
// network.
#include "runtime/network/optimizer/optimizer.h"
#include "tests/unit/network/models/configs.h"

namespace penstock {
namespace {

using ::testing::ElementsAre;

std::vector<std::string> spared_in(const ModelConfig& config) {
  const Sequential model = build_model(config, 0, 0);
  ParameterSet set;
  for (const auto& layer : model.layers) layer->declare(set);
  const StateTable table(set);
  std::vector<std::string> names;
  for (const StateEntry* entry : table.entries()) {
    if (entry->is_parameter() && is_spared_decay(*entry, OptimizerConfig{})) {
      names.push_back(entry->name);
    }
  }
  return names;
}

// Layers without a name are called by their number: nothing in "layers.1.weight" says norm.
TEST(Decay, SparesNormsOfLayersWithoutAName) {
  EXPECT_THAT(
      spared_in(image_sequence({entry("conv2d", {{"channels", int64_t{4}}}), entry("batch-norm"),
                                entry("residual", {}, {entry("layer-norm")}), entry("flatten"),
                                entry("linear", {{"width", int64_t{8}}, {"bias", false}})})),
      ElementsAre("layers.0.bias", "layers.1.weight", "layers.1.bias", "layers.2.branch.0.weight",
                  "layers.2.branch.0.bias", "layers.classifier.bias"));
}

// In the networks that we name ourselves, kinds and names say the same.
TEST(Decay, KindsAgreeWithNamesInNamedNetworks) {
  OptimizerConfig by_name;
  by_name.decay_all = true;
  by_name.no_decay = {"bias", "norm"};
  ModelConfig translation = transformer_config();
  translation.kind = "transformer-nmt";
  for (const ModelConfig& config :
       {transformer_config(), translation, resnet_config("cifar", 14),
        resnet_config("imagenet", 50), unet_config(), amoebanet_config("amoebanet-d", "small"),
        amoebanet_config("amoebanet-b", "small"), mlp_config()}) {
    const Sequential model = build_model(config, 11, 5);
    ParameterSet set;
    for (const auto& layer : model.layers) layer->declare(set);
    int spared = 0;
    const StateTable table(set);
    for (const StateEntry* entry : table.entries()) {
      if (!entry->is_parameter()) continue;
      EXPECT_EQ(is_spared_decay(*entry, OptimizerConfig{}), is_spared_decay(*entry, by_name))
          << config.kind << ' ' << entry->name;
      spared += is_spared_decay(*entry, by_name) ? 1 : 0;
    }
    EXPECT_GT(spared, 0) << config.kind;
  }
}

}  // namespace
}  // namespace penstock
