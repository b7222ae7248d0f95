// runtime/engine/training/partner/copied_state.h -- what of a run's state this rank copies.
#pragma once

#include <vector>

#include "runtime/engine/pipeline/pipeline.h"
#include "runtime/records/checkpoint/copies/copy_layout.h"

namespace penstock {

struct CopiedState {
  std::vector<CopiedPiece> changing;  // from step to step
  std::vector<CopiedPiece> frozen;
};
// Of what the pipeline keeps each element on one rank: where replicas share updates out, each its
// own range of weights, states and averages, which the others never hold whole or hold late; what
// all replicas have alike is dealt out to them whole, to the one that has least so far.
// Between one update and the next nobody changes any of it.
[[nodiscard]] CopiedState copied_state(const Pipeline& pipeline, int replica, int replicas);

}  // namespace penstock
