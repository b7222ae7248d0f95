// runtime/planning/plan/stage_skips.h -- the stages that the skips of a network join, for a given
// split. Pure.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "runtime/planning/plan/layer_cost.h"
#include "runtime/planning/schedule/schedule.h"

namespace penstock {

// Pairs of stages with others between them, each once, in the order of the skips, for
// Schedule::skips. `split`: layers of each stage.
[[nodiscard]] std::vector<Skip> stage_skips(std::span<const int> split,
                                            std::span<const LayerSkip> skips);
// Bytes of all skips from stage `from` to stage `to`.
[[nodiscard]] int64_t skip_bytes(std::span<const int> split, std::span<const LayerSkip> skips,
                                 int from, int to);

}  // namespace penstock
