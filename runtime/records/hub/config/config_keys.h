// runtime/records/hub/config/config_keys.h -- the keys of a config.json that never matter to the
// network.
#pragma once

#include <span>

namespace penstock {

// Keys about Python, training from scratch, generation and other tasks, and what tools write of
// themselves: the logits do not depend on them, whatever their values.
[[nodiscard]] std::span<const char* const> keys_without_effect();

}  // namespace penstock
