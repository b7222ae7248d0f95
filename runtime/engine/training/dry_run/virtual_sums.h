// runtime/engine/training/dry_run/virtual_sums.h -- sums over replicas in a dry run. They are real;
// how long they take by the ranks' virtual clocks is computed as simulate() does
// (runtime/planning/schedule/timing/simulate.cpp).
#pragma once

#include <memory>

#include "kernels/counting/virtual_clock.h"
#include "runtime/planning/schedule/timing/costs.h"
#include "runtime/system/comm/network.h"

namespace penstock {

// `members`: the ranks of the group, which compare their clocks when they wait. `late_weights`:
// gather() goes on while the rank computes; false: it takes its time at once
// (PipelineCosts::late_weights). Members and clock must outlive the group.
[[nodiscard]] std::unique_ptr<ReduceGroup> make_virtual_sums(std::unique_ptr<ReduceGroup> real,
                                                             Collective& members,
                                                             const LinkTimes& link,
                                                             bool late_weights,
                                                             VirtualClock& clock);

}  // namespace penstock
