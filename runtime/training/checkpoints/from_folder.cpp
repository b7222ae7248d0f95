#include "runtime/training/checkpoints/from_folder.h"

#include <utility>
#include <vector>

#include "runtime/hub/adapters/adapter_weights.h"
#include "runtime/hub/config_json.h"
#include "runtime/hub/kept_folder.h"
#include "runtime/hub/made_config.h"
#include "runtime/hub/weights.h"
#include "runtime/models/adapter_names.h"

namespace penstock {

void load_folder(const ModelConfig& model, Pipeline& pipeline, Device& device) {
  const HubFamily& family = hub_family(read_hub_config(model.from).family);
  HubWeights weights(weights_folder(model.from), family);
  std::vector<HubTensor> tensors;
  for (const StateEntry* entry : pipeline.state()) {
    if (is_of_adapter(entry->name)) continue;
    const auto extents = entry->value.shape().extents();
    tensors.push_back({entry->name, {extents.begin(), extents.end()}});
  }
  weights.expect(std::move(tensors));
  for (StateEntry* entry : pipeline.state()) {
    if (is_of_adapter(entry->name)) continue;
    weights.read(entry->name, entry->value, device);
    entry->changed();
  }
}

void load_adapters(const ModelConfig& model, Pipeline& pipeline, Device& device) {
  const AdapterWeights weights(model.lora.from, hub_family(family_of(model)));
  for (StateEntry* entry : pipeline.state()) {
    if (!is_of_adapter(entry->name)) continue;
    weights.read(entry->name, entry->value, device);
    entry->changed();
  }
}

}  // namespace penstock
