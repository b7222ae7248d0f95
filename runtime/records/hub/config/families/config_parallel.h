// runtime/records/hub/config/families/config_parallel.h -- reads a config.json of families whose
// attention and feed-forward layers stand side by side, or may do so.
#pragma once

#include "runtime/network/models/config.h"
#include "runtime/records/hub/config/config_fields.h"

namespace penstock {

// The functions read members of `fields` and throw Error(Input) naming a member that cannot be.
[[nodiscard]] ModelConfig read_gpt_neox(ConfigFields& fields);
[[nodiscard]] ModelConfig read_cohere(ConfigFields& fields);
[[nodiscard]] ModelConfig read_cohere2(ConfigFields& fields);

}  // namespace penstock
