// runtime/records/hub/config/families/config_more.h -- reads a config.json of families that are
// like Llama but for a few members: where windows, norms, biases and rotary positions are.
#pragma once

#include "runtime/network/models/config.h"
#include "runtime/records/hub/config/config_fields.h"

namespace penstock {

// The functions read members of `fields` and throw Error(Input) naming a member that cannot be.
[[nodiscard]] ModelConfig read_olmo3(ConfigFields& fields);
[[nodiscard]] ModelConfig read_ministral(ConfigFields& fields);
[[nodiscard]] ModelConfig read_seed_oss(ConfigFields& fields);
[[nodiscard]] ModelConfig read_exaone4(ConfigFields& fields);
[[nodiscard]] ModelConfig read_starcoder2(ConfigFields& fields);
[[nodiscard]] ModelConfig read_stablelm(ConfigFields& fields);
[[nodiscard]] ModelConfig read_glm(ConfigFields& fields);
[[nodiscard]] ModelConfig read_glm4(ConfigFields& fields);

}  // namespace penstock
