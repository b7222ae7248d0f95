// runtime/schedule/window.h -- how many messages of an edge a sender must be able to leave behind
// before it waits for the oldest.
//
// verify() proves a schedule under sends that never wait. A link that does not copy what it sends
// keeps the tensors of the last few messages and, before it lets go of the oldest, waits until the
// receiver has taken that one. The memory is the window's; but too small a window can close a
// circle of waits that the schedule does not have.
#pragma once

#include "runtime/schedule/schedule.h"

namespace penstock {

// The smallest window >= `least` with which every rank gets to the end: send i of an edge waits
// until message i - window is being received, and a message is being received from the moment the
// one before has been. `lowered` is verified. With window micro_batches no send waits at all.
[[nodiscard]] int message_window(const Schedule& lowered, int least = 2);

}  // namespace penstock
