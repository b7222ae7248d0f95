// runtime/records/hub/config/config_windows.h -- which layers of a config.json have a sliding
// window: all of Mistral's; those of Qwen's that layer_types names, or, without that member, those
// from max_window_layers on; none of the others'.
#pragma once

#include "runtime/network/models/config.h"
#include "runtime/records/hub/config/config_fields.h"

namespace penstock {

// All throw as ConfigFields does. A layer_types that agrees with the rest of the file is ignored.
void refuse_windows(ConfigFields& fields);
// Both set model.window, 0 for none.
void read_mistral_window(ConfigFields& fields, ModelConfig& model);
// Sets model.window_layers, too, where only some layers have a window; model.layers must be set.
void read_qwen_window(ConfigFields& fields, ModelConfig& model);

}  // namespace penstock
