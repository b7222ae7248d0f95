// runtime/engine/training/partner/copied_state.h -- decides which part of the training state each
// rank copies to memory (partner_copies.h), so that the ranks together copy every element of their
// replicas once.
#pragma once

#include <vector>

#include "runtime/engine/pipeline/pipeline.h"
#include "runtime/records/checkpoint/copies/copy_layout.h"

namespace penstock {

// A CopiedPiece is a tensor, or this rank's range of its elements (copy_layout.h in
// runtime/records/checkpoint/copies).
struct CopiedState {
  std::vector<CopiedPiece> changing;  // pieces of tensors that steps change
  std::vector<CopiedPiece> frozen;    // pieces of tensors that no step changes
};
// This rank's part, as references to the pipeline's tensors. Where replicas share the updates out
// (as in ZeRO-1), each copies the range of weights, states and averages that it updates. A tensor
// that is the same in all replicas is copied whole by one of them, the one with the fewest bytes so
// far. `replica` is this rank's, of `replicas`. The tensors do not change between one update and
// the next.
[[nodiscard]] CopiedState copied_state(const Pipeline& pipeline, int replica, int replicas);

}  // namespace penstock
