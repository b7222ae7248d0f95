// runtime/planning/schedule/timing/memory.h -- byte_curve() and peak_bytes(): predict how many
// bytes of activations each rank has in use during a training step, instruction by instruction.
//
// A schedule and the bytes that each stage's passes take and free (StageMemory, costs.h) go in; the
// bytes in use at every instruction, or the peak of each rank, come out. The planner adds weights
// and optimizer states to these peaks to see what fits on a device. Counted are stashes and tapes
// (what forwards keep for their backwards), tensors that go from stage to stage, and buffers for
// messages.
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
// [rank][index of the instruction in the rank's program]. With the times of a Timeline (timeline.h)
// of the same schedule it is a curve over time.
using ByteCurve = std::vector<std::vector<BytesInUse>>;

// Walks each rank's program from its beginning, with the bytes of activations at 0:
//   * an Audit needs for its time the most that StageMemory::audit_peak says of the rank's stages
//   * a compute instruction changes the bytes as `memory` (by stage) says; a stage is taken to
//     recompute if the schedule has a Recompute of it
//   * a send frees the tensors of its message: at once where sends never wait; where
//     rules.holds_sent, when a message comes that the receiving rank sent after it had taken them,
//     which is a bound from above, since a quick receiver takes them earlier; where rules.window is
//     w, when w more messages have been sent from the same stage to the same stage; at the end of
//     the step in any case
//   * a receive buffer for the first message from each stage is there before the step begins, and
//     a new one is taken whenever a message has come and more are still to come from that stage
// `skip_bytes`: bytes of a message over each of Schedule::skips; empty: 0. `lowered` must be
// lowered and verified. Throws std::invalid_argument unless `memory` has one entry per stage, or if
// a stage has no backward (an evaluation keeps nothing). O(instructions).
[[nodiscard]] ByteCurve byte_curve(const Schedule& lowered, std::span<const StageMemory> memory,
                                   std::span<const int64_t> skip_bytes = {},
                                   const TransportRules& rules = {});

// One per rank: the most bytes in use in a pass without backwards, in which
// StageMemory::forward_keep is what a forward does. `lowered` has no updates. Else as byte_curve().
[[nodiscard]] std::vector<int64_t> forward_peak_bytes(const Schedule& lowered,
                                                      std::span<const StageMemory> memory,
                                                      std::span<const int64_t> skip_bytes = {},
                                                      const TransportRules& rules = {});

// One per rank: the most bytes in use at any moment of the step. The second form makes the curve
// itself.
[[nodiscard]] std::vector<int64_t> peak_bytes(const ByteCurve& curve);
[[nodiscard]] std::vector<int64_t> peak_bytes(const Schedule& lowered,
                                              std::span<const StageMemory> memory,
                                              std::span<const int64_t> skip_bytes = {},
                                              const TransportRules& rules = {});

}  // namespace penstock
