// runtime/planning/plan/stage_skips.h -- stage_skips(): the pairs of stages that the skips of a
// network join, for a given split. Pure.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "runtime/planning/plan/layer_cost.h"
#include "runtime/planning/schedule/schedule.h"

namespace penstock {

// The pairs of stages that skips join past at least one other stage, each pair once, in the order
// of the skips, for Schedule::skips. `split`: layers of each stage.
[[nodiscard]] std::vector<Skip> stage_skips(std::span<const int> split,
                                            std::span<const LayerSkip> skips);
// The bytes of all skips from stage `from` to stage `to`, for one micro-batch.
[[nodiscard]] int64_t skip_bytes(std::span<const int> split, std::span<const LayerSkip> skips,
                                 int from, int to);

}  // namespace penstock
