// launch/program/hub/lora_section.h -- completes the [lora] section of the configuration (LoRA:
// small trained matrices, called adapters, beside frozen weights) from a folder of adapters,
// lora.from.
#pragma once

#include "launch/program/options/settings.h"

namespace penstock {

// Whether lora.rank, alpha and targets are all given, so that the folder is not needed to know
// them.
[[nodiscard]] bool says_lora(const Settings& settings);

// Takes the keys of the section from the folder lora.from, whose path is absolute by now, unless
// the folder is gone and not needed. Where there are adapters and optimizer.freeze names nothing,
// sets it to freeze everything else. Throws Error(Input) for a given key that contradicts the
// folder, for keys of adapters where there are none, and for a folder that is missing or has
// adapters that are not supported; Error(Data) for a damaged file in it.
void settle_lora(Settings& settings);

}  // namespace penstock
