#include "runtime/training/checkpoints/from_folder.h"

#include "runtime/hub/config_json.h"
#include "runtime/hub/kept_folder.h"
#include "runtime/hub/weights.h"

namespace penstock {

void load_folder(const ModelConfig& model, Pipeline& pipeline, Device& device) {
  const HubFamily& family = hub_family(read_hub_config(model.from).family);
  HubWeights weights(weights_folder(model.from), family);
  for (StateEntry* entry : pipeline.state()) {
    weights.read(entry->name, entry->value, device);
    entry->changed();
  }
}

}  // namespace penstock
