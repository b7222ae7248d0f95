// runtime/hub/config_windows.h -- which layers of a config.json look back through a sliding window:
// of Mistral all; of Qwen those that layer_types names, or, where it is not there, those from
// max_window_layers on.
#pragma once

#include "runtime/hub/config_fields.h"
#include "runtime/models/config.h"

namespace penstock {

// Both set model.window, 0 for none, and throw as ConfigFields does.
void read_mistral_window(ConfigFields& fields, ModelConfig& model);
// And model.window_layers, where only some of the model.layers, which is read already, have one.
void read_qwen_window(ConfigFields& fields, ModelConfig& model);

}  // namespace penstock
