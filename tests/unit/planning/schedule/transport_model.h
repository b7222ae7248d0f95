// tests/unit/planning/schedule/transport_model.h -- a model of how a pipeline with NCCL executes a
// schedule: hosts that issue work, the stream of each device, and messages that pass when both of
// their ends have come to them. Without work and times: only what waits for what, as in
// runtime/system/comm/cuda/nccl_send.cpp and nccl_receive.cpp.
//
// The model has one replica. The ranks at one position run the same program in all replicas, so
// where one replica gets to the end all do, and an exchange between them holds none back for good.
#pragma once

#include "runtime/planning/schedule/schedule.h"

namespace penstock {

struct ModelRules {
  int window = 2;     // DirectedEdge::window
  int exchanges = 0;  // per compute instruction: the host reads what was computed, then goes on
  // Whether computing goes on after an exchange only when all that was sent has been received.
  bool exchange_waits_for_sends = false;
  int lead = 1 << 30;  // how many entries of the stream a host can be ahead of it, at least 1
};

// Whether every host and every device gets to the end. `lowered` is verified.
[[nodiscard]] bool reaches_the_end(const Schedule& lowered, const ModelRules& rules);

}  // namespace penstock
