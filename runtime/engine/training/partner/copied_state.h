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
// This rank's part of what the pipeline keeps, so that each element is copied by one rank. Where
// replicas share updates out, each copies its own range of weights, states and averages, which the
// others never hold whole or hold late. An entry that all replicas have alike is copied whole by
// the one that has least so far. Nothing of it changes between one update and the next.
[[nodiscard]] CopiedState copied_state(const Pipeline& pipeline, int replica, int replicas);

}  // namespace penstock
