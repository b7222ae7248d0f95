// runtime/planning/schedule/proof/window.h -- message_window(): the smallest limit on the messages
// of an edge under way with which no rank gets stuck.
//
// A link that does not copy what it sends holds the tensors of the messages under way, and a send
// waits where that window is full. A small window takes less memory, but too small a one makes
// ranks wait for one another in a circle.
//
// The proof holds however far a host runs ahead of its device. A receive is issued when the host
// gets to it, and a host may have to wait for its device anywhere: for the statistics of a norm
// over replicas, for memory, for room in a stream. So the proof relies on nothing but that each
// rank runs its program one instruction after another.
#pragma once

#include "runtime/planning/schedule/schedule.h"

namespace penstock {

// The smallest window >= `least` with which every rank gets to its end if send i of a directed edge
// waits until message i - window has been received. `lowered` is verified. There is always one:
// with a window of micro_batches no send waits. A larger window never stops a rank that a smaller
// one does not, so bisection finds it: O(instructions x log micro_batches) at worst, one replay
// where `least` is enough.
[[nodiscard]] int message_window(const Schedule& lowered, int least = 2);

}  // namespace penstock
