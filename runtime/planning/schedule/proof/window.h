// runtime/planning/schedule/proof/window.h -- the number of messages of an edge that a sender must
// be able to leave behind before it waits for the oldest.
//
// verify() proves a schedule under sends that never wait. A link that does not copy what it sends
// keeps the tensors of the last few messages and, before it lets go of the oldest, waits until the
// receiver has taken that one. The memory is the window's; but too small a window can close a
// circle of waits that the schedule does not have.
//
// The proof holds however far a host runs ahead of its device. A receive is issued when the host
// gets to it, and a host may have to wait for its device anywhere: for the statistics of a norm
// over replicas, for memory, for room in a stream. So the proof relies on nothing but that each
// rank runs its program one instruction after another.
#pragma once

#include "runtime/planning/schedule/schedule.h"

namespace penstock {

// The smallest window >= `least` with which every rank gets to the end where send i of an edge
// waits until message i - window has been received. `lowered` is verified. With window
// micro_batches no send waits at all, so there always is one. More room never stops a rank that
// less room does not, so the search halves: O(instructions x log micro_batches) at worst, and one
// replay where `least` is enough.
[[nodiscard]] int message_window(const Schedule& lowered, int least = 2);

}  // namespace penstock
