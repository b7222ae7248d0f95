// runtime/records/hub/config/config_windows.h -- which layers of a config.json look back through a
// sliding window: of Mistral all; of Qwen those that layer_types names, or, where it is not there,
// those from max_window_layers on; of the others none.
#pragma once

#include "runtime/network/models/config.h"
#include "runtime/records/hub/config/config_fields.h"

namespace penstock {

// All throw as ConfigFields does. A layer_types that says of all layers what goes without saying is
// passed over.
void refuse_windows(ConfigFields& fields);
// Both set model.window, 0 for none.
void read_mistral_window(ConfigFields& fields, ModelConfig& model);
// Sets model.window_layers, too, where only some layers have a window; model.layers must be set.
void read_qwen_window(ConfigFields& fields, ModelConfig& model);

}  // namespace penstock
