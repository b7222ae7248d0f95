// runtime/planning/schedule/proof/window.h -- message_window(): the smallest number of messages
// that must be allowed under way between two stages so that the schedule does not deadlock.
//
// Some links (NCCL's) do not copy what they send: the sender's tensors stay in memory until the
// message has been received. To bound that memory a sender may have only `window` messages under
// way on one directed edge (from one stage to another, edges.h); a further send waits until the
// oldest has been received. A small window saves memory, but if it is too small, ranks wait for one
// another in a circle.
//
// The proof assumes only that each rank runs its program one instruction after another. It does not
// assume that the host posts receives early, since the host may have to wait for its device
// anywhere.
#pragma once

#include "runtime/planning/schedule/schedule.h"

namespace penstock {

// Returns the smallest window >= `least` with which every rank gets to the end of its program.
// `lowered` must be lowered and verified (verify.h). There is always such a window: with one of
// micro_batches messages no send ever waits. Since a larger window never adds a deadlock, it is
// found by bisection over replays (replay.h): O(instructions x log micro_batches) at worst, and a
// single replay where `least` is enough.
[[nodiscard]] int message_window(const Schedule& lowered, int least = 2);

}  // namespace penstock
