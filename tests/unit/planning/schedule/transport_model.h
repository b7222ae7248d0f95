// tests/unit/planning/schedule/transport_model.h -- a model of what a pipeline by NCCL does with a
// schedule: hosts that issue work, the stream of each device that computes, and messages that pass
// when both their ends have got there. No work, no times: only what waits for what, as in
// runtime/system/comm/cuda/nccl_send.cpp and nccl_receive.cpp.
//
// One replica stands for all: those at one position run the same program, so what one can do alone
// all can do side by side, and an exchange between them keeps none of them that had not come so
// far.
#pragma once

#include "runtime/planning/schedule/schedule.h"

namespace penstock {

struct ModelRules {
  int window = 2;     // of DirectedEdge
  int exchanges = 0;  // in each compute instruction: the host reads what was computed, then goes on
  // Computing goes on after an exchange only when everything that was sent has been received.
  bool exchange_waits_for_sends = false;
  int lead = 1 << 30;  // entries of its device's stream that a host can be ahead, at least 1
};

// Whether every host and every device gets to the end. `lowered` is verified.
[[nodiscard]] bool reaches_the_end(const Schedule& lowered, const ModelRules& rules);

}  // namespace penstock
