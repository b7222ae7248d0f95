// runtime/records/telemetry/formats/trace_flows.h -- flows_of(): finds the messages in a timeline
// of all ranks, so that trace viewers can draw an arrow ("flow") for each, from the instruction
// that sends it to the one that receives it. trace_json.h writes the arrows.
#pragma once

#include <cstddef>
#include <vector>

#include "runtime/planning/schedule/timing/timeline.h"

namespace penstock {

// One arrow.
struct TraceFlow {
  bool activation = true;          // false: the message is a gradient
  size_t from_rank = 0, from = 0;  // the sender, and the index among its instructions
  size_t to_rank = 0, to = 0;      // the receiver, and the index among its instructions
};

// Returns an arrow for each message whose send and receive are both in the timeline. `replicas` has
// the number of the replica of each rank, since messages stay within a replica; ranks that it lacks
// are in replica 0. Viewers draw no instruction that takes no time, such as a simulated send: there
// the arrow starts at the last instruction before it on its rank that takes time, or ends at the
// first after it. If there is no such instruction, the message has no arrow.
[[nodiscard]] std::vector<TraceFlow> flows_of(const Timeline& timeline,
                                              const std::vector<int>& replicas);

}  // namespace penstock
