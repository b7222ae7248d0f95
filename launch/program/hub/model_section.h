// launch/program/hub/model_section.h -- completes the [model] section of the configuration (layers,
// width, heads, ...) from the config.json of the Hugging Face folder model.from.
#pragma once

#include "launch/program/options/settings.h"

namespace penstock {

// Takes the keys of the section from the folder, whose path is absolute by now. Throws Error(Input)
// naming the key when one that was given contradicts the folder, or model.context is longer than
// the folder's; Error(Input) also for a folder without config.json or a network that is not
// supported, Error(Data) for a config.json that is no JSON.
void settle_model(Settings& settings);

}  // namespace penstock
