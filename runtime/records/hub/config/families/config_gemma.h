// runtime/records/hub/config/families/config_gemma.h -- reads a config.json of Gemma 1, 2 and 3
// (their language models alone). All multiply embeddings by the root of the width, have RMS norms
// of 1 + weight, and heads whose width stands for itself.
#pragma once

#include "runtime/network/models/config.h"
#include "runtime/records/hub/config/config_fields.h"

namespace penstock {

// The functions read members of `fields` and throw Error(Input) naming a member that cannot be.
[[nodiscard]] ModelConfig read_gemma(ConfigFields& fields);
[[nodiscard]] ModelConfig read_gemma2(ConfigFields& fields);
[[nodiscard]] ModelConfig read_gemma3(ConfigFields& fields);

}  // namespace penstock
