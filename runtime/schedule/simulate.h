// runtime/schedule/simulate.h -- when every instruction would run, from the times of the ops.
//
// Every rank runs its program in order and each instruction as early as its inputs allow; sends are
// posted and never wait, so messages travel while the rank computes. Knows no bandwidth: a message
// arrives `latency` after it was sent, however many are on the way.
#pragma once

#include "runtime/schedule/costs.h"
#include "runtime/schedule/schedule.h"
#include "runtime/schedule/timeline.h"

namespace penstock {

// Accepts schedules before and after lower(); a compute-only one receives at no cost just in time.
// Throws std::invalid_argument if it is malformed or gets stuck, naming where, or if costs has not
// one entry per stage or holds a time that is negative or not finite.
[[nodiscard]] Timeline simulate(const Schedule& schedule, const PipelineCosts& costs);

}  // namespace penstock
