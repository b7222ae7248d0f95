#include "launch/program/hub/folder_run.h"

#include <vector>

#include "kernels/error.h"
#include "runtime/comm/agreement.h"
#include "runtime/data/text/vocabulary.h"
#include "runtime/hub/config_json.h"
#include "runtime/hub/kept_folder.h"
#include "runtime/hub/weights.h"
#include "runtime/layers/parameter_set.h"

namespace penstock {

void check_model_folder(const Config& config, const ModelMaker& models) {
  const ModelConfig& model = config.model;
  if (model.from.empty()) return;
  const int64_t tokens = known_vocabulary(config.data);
  if (tokens > model.vocabulary) {
    fail_input("the tokenizer has " + std::to_string(tokens) + " tokens, but the network of " +
               model.from + " knows " + std::to_string(model.vocabulary) +
               ": do they belong together?");
  }
  const Sequential network = models.build(model, model.vocabulary, model.classes);
  ParameterSet all;
  for (const auto& layer : network.layers) layer->declare(all);
  std::vector<HubTensor> tensors;
  for (const Parameter& parameter : all.declared().parameters) {
    const auto extents = parameter.shape.extents();
    if (parameter.first == nullptr) {
      tensors.push_back({parameter.name, {extents.begin(), extents.end()}});
    }
  }
  const HubFamily& family = hub_family(read_hub_config(model.from).family);
  HubWeights(weights_folder(model.from), family).check(tensors, model.tied_embedding);
}

void check_model_folder(Collective& world, const Config& config, const ModelMaker& models) {
  (void)on_first_rank(world, [&] {
    check_model_folder(config, models);
    return std::string();
  });
}

Config with_folder_text(const Config& config) {
  Config text = config;
  text.data.kind = "text";
  text.data.tokenizer = "folder";
  text.data.vocabulary = config.model.from;
  return text;
}

void keep_model_folder(const Config& config, const std::string& run_directory) {
  if (config.model.from.empty()) return;
  keep_folder(config.model.from, run_directory + "/" + kKeptFolder);
}

}  // namespace penstock
