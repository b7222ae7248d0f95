// runtime/records/telemetry/formats/trace_flows.h -- which instruction of a timeline a message
// comes from, and which one it goes to: the arrows of a trace. Pure.
#pragma once

#include <cstddef>
#include <vector>

#include "runtime/planning/schedule/timing/timeline.h"

namespace penstock {

struct TraceFlow {
  bool activation = true;          // else a gradient
  size_t from_rank = 0, from = 0;  // index into the rank's instructions
  size_t to_rank = 0, to = 0;      // the same for the receiver
};

// One for each message that is sent and received in the timeline. `replicas`, by rank: which
// pipeline it belongs to; 0 where absent. An end that took no time, as in a simulation, is replaced
// by what takes time beside it on its rank: the last instruction before a send, the first after a
// receive; a message without such a neighbour has no arrow.
[[nodiscard]] std::vector<TraceFlow> flows_of(const Timeline& timeline,
                                              const std::vector<int>& replicas);

}  // namespace penstock
