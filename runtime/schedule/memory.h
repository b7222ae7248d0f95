// runtime/schedule/memory.h -- how many bytes of activations a step needs on every rank, before any
// is allocated.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "runtime/schedule/costs.h"
#include "runtime/schedule/schedule.h"

namespace penstock {

// Per rank, the most bytes in use at once for stashes, tapes and tuples between stages, in a step
// of training. Walks each program alone, as the executor would run it:
//   * verbs change the bytes as `memory`, one entry per stage, says; a stage recomputes if its
//     program holds a Recompute of it
//   * a receive brings a tuple in, a send takes it away at once (until a slow neighbour has taken
//     it, it stays longer: `spare` memory, not counted here)
//   * a rank asks for the first message of every edge before the step, and for the next one when
//     the one before has come: a buffer per edge while messages are still to come
// `skip_bytes`: of the tuple that takes each of the schedule's skips; empty: 0.
// O(instructions). The schedule must be lowered and verified. Throws std::invalid_argument unless
// there is one entry per stage, or if a stage is never differentiated: evaluation keeps nothing.
[[nodiscard]] std::vector<int64_t> peak_bytes(const Schedule& lowered,
                                              std::span<const StageMemory> memory,
                                              std::span<const int64_t> skip_bytes = {});

}  // namespace penstock
