// runtime/records/hub/config/config_windows.h -- which layers of a config.json have a sliding
// window: all of Mistral's; those of Qwen's that layer_types names, or, without that member, those
// from max_window_layers on; none of the others'.
#pragma once

#include "runtime/network/models/config.h"
#include "runtime/records/hub/config/config_fields.h"

namespace penstock {

// All throw as ConfigFields does, and where layer_types contradicts the rest of the file. Refuses a
// layer_types in which some layer has a window.
void refuse_windows(ConfigFields& fields);
// Sets model.window, for all layers; 0: none.
void read_mistral_window(ConfigFields& fields, ModelConfig& model);
// Sets model.window, and model.window_layers where only some layers have it; needs model.layers.
void read_qwen_window(ConfigFields& fields, ModelConfig& model);

}  // namespace penstock
