// runtime/records/hub/config/config_keys.h -- the list of members of a Hugging Face config.json
// that can be skipped, whatever their values, because they do not change what the network computes.
#pragma once

#include <span>

namespace penstock {

// They are about Python classes, initialisation, text generation and other tasks, or notes that
// tools leave. The logits do not depend on them. The list lives as long as the program.
[[nodiscard]] std::span<const char* const> keys_without_effect();

}  // namespace penstock
