#include "runtime/engine/training/checkpoints/from_folder.h"

#include <utility>
#include <vector>

#include "runtime/network/models/adapter_names.h"
#include "runtime/records/hub/adapters/adapter_weights.h"
#include "runtime/records/hub/config/config_json.h"
#include "runtime/records/hub/config/made/made_config.h"
#include "runtime/records/hub/kept_folder.h"
#include "runtime/records/hub/weights.h"
#include "runtime/system/files/long_work.h"

namespace penstock {
namespace {

int64_t bytes_of_values(StateRange state) {
  int64_t bytes = 0;
  for (const StateEntry* entry : state) bytes += static_cast<int64_t>(entry->value.size_bytes());
  return bytes;
}

}  // namespace

void load_folder(const ModelConfig& model, Pipeline& pipeline, Device& device) {
  const HubFamily& family = hub_family(read_hub_config(model.from).family);
  HubWeights weights(weights_folder(model.from), family, model.heads);
  std::vector<HubTensor> tensors;
  for (const StateEntry* entry : pipeline.state()) {
    if (is_of_adapter(entry->name)) continue;
    const auto extents = entry->value.shape().extents();
    tensors.push_back({entry->name, {extents.begin(), extents.end()}});
  }
  weights.expect(std::move(tensors));
  LongWork work("reading weights from " + model.from, bytes_of_values(pipeline.state()));
  for (StateEntry* entry : pipeline.state()) {
    if (is_of_adapter(entry->name)) continue;
    weights.read(entry->name, entry->value, device);
    entry->changed();
    work.went_on(static_cast<int64_t>(entry->value.size_bytes()));
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
