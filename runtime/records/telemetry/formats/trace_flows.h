// runtime/records/telemetry/formats/trace_flows.h -- TraceFlow: the arrows of a trace, each from
// the instruction that sends a message to the one that receives it. Pure.
#pragma once

#include <cstddef>
#include <vector>

#include "runtime/planning/schedule/timing/timeline.h"

namespace penstock {

struct TraceFlow {
  bool activation = true;          // else a gradient
  size_t from_rank = 0, from = 0;  // the sender, and the index among its instructions
  size_t to_rank = 0, to = 0;      // the receiver, and the index among its instructions
};

// An arrow for each message that is sent and received in the timeline. `replicas`: the replica of
// each rank; 0 where absent. An end that took no time, as in a simulation, is replaced by what
// takes time beside it on its rank: the last instruction before a send, the first after a receive;
// a message without such a neighbour has no arrow.
[[nodiscard]] std::vector<TraceFlow> flows_of(const Timeline& timeline,
                                              const std::vector<int>& replicas);

}  // namespace penstock
