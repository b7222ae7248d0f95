#include "launch/program/hub/folder_run.h"

#include <algorithm>
#include <vector>

#include "kernels/error.h"
#include "launch/program/output.h"
#include "runtime/data/tokenizer/hub/hub_tokenizer.h"
#include "runtime/data/tokenizer/vocabulary.h"
#include "runtime/network/layers/parameter_set.h"
#include "runtime/network/models/adapter_names.h"
#include "runtime/records/hub/adapters/adapter_weights.h"
#include "runtime/records/hub/config/config_json.h"
#include "runtime/records/hub/config/made/made_config.h"
#include "runtime/records/hub/kept_folder.h"
#include "runtime/records/hub/weights.h"
#include "runtime/system/comm/agreement.h"

namespace penstock {
namespace {

// Holds those parameters and buffers of a network that published folders contain, too.
struct FolderTensors {
  std::vector<HubTensor> weights, adapters;
};

FolderTensors tensors_of(const ModelConfig& model, const ModelMaker& models) {
  // Only the data say how large the vocabulary of a network from no folder is. Adapters do not
  // depend on the vocabulary, so any number will do.
  const int64_t vocabulary = std::max<int64_t>(1, model.vocabulary);
  const Sequential network = models.build(model, vocabulary, model.classes);
  ParameterSet all;
  for (const auto& layer : network.layers) layer->declare(all);
  FolderTensors tensors;
  const auto add = [](std::vector<HubTensor>& to, const std::string& name, const Shape& shape) {
    const auto extents = shape.extents();
    to.push_back({name, {extents.begin(), extents.end()}});
  };
  for (const Parameter& parameter : all.declared().parameters) {
    if (parameter.first != nullptr) continue;
    add(is_of_adapter(parameter.name) ? tensors.adapters : tensors.weights, parameter.name,
        parameter.shape);
  }
  for (const Buffer& buffer : all.declared().buffers) {
    add(tensors.weights, buffer.name, buffer.shape);
  }
  return tensors;
}

void check_vocabulary(const Config& config) {
  const int64_t tokens = known_vocabulary(config.data);
  if (tokens <= config.model.vocabulary) return;
  if (uses_folder(config.data)) check_rows(config.data.vocabulary, config.model.vocabulary);
  fail_input("the tokenizer has " + std::to_string(tokens) + " tokens, but the network of " +
             config.model.from + " knows " + std::to_string(config.model.vocabulary) +
             ": do they belong together?");
}

}  // namespace

void check_model_folder(const Config& config, const ModelMaker& models) {
  const ModelConfig& model = config.model;
  if (model.from.empty() && model.lora.from.empty()) return;
  const FolderTensors tensors = tensors_of(model, models);
  if (!model.from.empty()) {
    check_vocabulary(config);
    const HubFamily& family = hub_family(read_hub_config(model.from).family);
    HubWeights(weights_folder(model.from), family, model.heads)
        .check(tensors.weights, model.tied_embedding);
  }
  if (!model.lora.from.empty()) {
    AdapterWeights(model.lora.from, hub_family(family_of(model))).check(tensors.adapters);
  }
}

void check_model_folder(Collective& world, const Config& config, const ModelMaker& models) {
  (void)on_first_rank(world, [&] {
    check_model_folder(config, models);
    if (!config.model.from.empty() && read_hub_config(config.model.from).mxfp4) {
      tell(config.model.from +
           " has experts in MXFP4: they are read, trained and exported as plain "
           "numbers");
    }
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
  const std::string kept = run_directory + "/" + kKeptFolder;
  // If the folder exists, it belongs to the run that is overwritten.
  if (config.model.from.empty()) return forget_folder(kept);
  keep_folder(config.model.from, kept);
}

}  // namespace penstock
