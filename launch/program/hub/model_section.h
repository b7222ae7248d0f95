// launch/program/hub/model_section.h -- model.from: what of the [model] section a Hugging Face
// folder says.
#pragma once

#include "launch/program/options/settings.h"

namespace penstock {

// Fills in the section from the folder, whose path is settled. Throws Error(Input) naming the key
// for one that was given and says otherwise, and for a longer context than the folder's; and as
// read_hub_config().
void settle_model(Settings& settings);

}  // namespace penstock
