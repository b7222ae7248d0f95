// launch/program/hub/lora_section.h -- the [lora] section: what of it a folder of adapters says,
// and what follows from it for the optimizer.
#pragma once

#include "launch/program/options/settings.h"

namespace penstock {

// Whether rank, alpha and targets are given: nothing follows from lora.from, then.
[[nodiscard]] bool says_lora(const Settings& settings);

// Fills in the section from lora.from, whose path is settled, unless it is gone and not needed; and
// freezes everything but the adapters, where there are any and optimizer.freeze names nothing.
// Throws Error(Input) naming the key for one that was given and says otherwise than the folder, and
// for one that was given where no adapters are asked for; and as read_adapter_config().
void settle_lora(Settings& settings);

}  // namespace penstock
