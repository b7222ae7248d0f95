// launch/program/hub/lora_section.h -- completes the [lora] section from a folder of adapters, and
// sets what follows from it for the optimizer.
#pragma once

#include "launch/program/options/settings.h"

namespace penstock {

// Whether lora.rank, alpha and targets are all given, so that the folder lora.from is not needed.
[[nodiscard]] bool says_lora(const Settings& settings);

// Fills in the section from lora.from, whose path is settled, unless that folder is gone and not
// needed. Where there are adapters and optimizer.freeze names nothing, freezes all else. Throws
// Error(Input) for a given key that contradicts the folder, and for one that is given where no
// adapters are asked for; and as read_adapter_config() does.
void settle_lora(Settings& settings);

}  // namespace penstock
