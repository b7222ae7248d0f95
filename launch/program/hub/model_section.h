// launch/program/hub/model_section.h -- completes the [model] section from the Hugging Face folder
// model.from.
#pragma once

#include "launch/program/options/settings.h"

namespace penstock {

// Fills in the section from the folder, whose path is settled. Throws Error(Input) naming the key
// for one that was given and contradicts the folder, and for a longer context than the folder's;
// and as read_hub_config() does.
void settle_model(Settings& settings);

}  // namespace penstock
