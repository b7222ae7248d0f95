// runtime/planning/schedule/timing/memory.h -- byte_curve() and peak_bytes(): predict how many
// bytes of activations are in use on every rank in the course of a step.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "runtime/planning/schedule/proof/replay.h"
#include "runtime/planning/schedule/schedule.h"
#include "runtime/planning/schedule/timing/costs.h"

namespace penstock {

// The bytes in use in the course of one instruction.
struct BytesInUse {
  int64_t peak = 0;   // the most while it runs
  int64_t after = 0;  // once it is done
};
// The bytes in use by rank and instruction of its program; with a timeline of the same schedule, a
// curve over time.
using ByteCurve = std::vector<std::vector<BytesInUse>>;

// The bytes of stashes, tapes, halves of tapes that weight gradients need, and tuples between
// stages in a step of training. Walks each program alone, as the executor would run it:
//   * verbs change the bytes as `memory`, one entry per stage, says; a stage recomputes if its
//     program holds a Recompute of it
//   * a receive brings a tuple in, a send takes one away: at once where sends never wait (memory of
//     tuples that a slow neighbour takes later is not counted); under a window of w messages once
//     w more have been sent along the same directed edge, or at the end of the step
//   * a rank asks for the first message of every edge before the step, and for the next one when
//     the one before has come: a buffer per edge while messages are still to come
// `skip_bytes`: the bytes of the tuple that takes each of the schedule's skips; empty: 0.
// O(instructions). The schedule must be lowered and verified. Throws std::invalid_argument unless
// there is one entry per stage, or if a stage is never differentiated: evaluation keeps nothing.
[[nodiscard]] ByteCurve byte_curve(const Schedule& lowered, std::span<const StageMemory> memory,
                                   std::span<const int64_t> skip_bytes = {},
                                   const TransportRules& rules = {});

// The peak of each rank.
[[nodiscard]] std::vector<int64_t> peak_bytes(const ByteCurve& curve);
[[nodiscard]] std::vector<int64_t> peak_bytes(const Schedule& lowered,
                                              std::span<const StageMemory> memory,
                                              std::span<const int64_t> skip_bytes = {},
                                              const TransportRules& rules = {});

}  // namespace penstock
