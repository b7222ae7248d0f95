// runtime/engine/training/partner/copied_state.h -- which part of its replica's state a rank copies
// to memory (partner_copies.h).
#pragma once

#include <vector>

#include "runtime/engine/pipeline/pipeline.h"
#include "runtime/records/checkpoint/copies/copy_layout.h"

namespace penstock {

struct CopiedState {
  std::vector<CopiedPiece> changing;  // what changes from step to step
  std::vector<CopiedPiece> frozen;    // what no step changes
};
// This rank's part of the pipeline's state: each element is copied by exactly one rank. Where
// replicas share updates out, each copies its own range of weights, states and averages, which the
// others have later or not at all. An entry that all replicas have alike is copied whole by the
// replica with the fewest bytes so far. Nothing of it changes between one update and the next.
[[nodiscard]] CopiedState copied_state(const Pipeline& pipeline, int replica, int replicas);

}  // namespace penstock
