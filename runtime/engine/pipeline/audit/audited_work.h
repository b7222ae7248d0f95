// runtime/engine/pipeline/audit/audited_work.h -- AuditedWork: all that a rank needs to repeat what
// one micro-batch did in one stage, for an audit (audit.h); and pass_on(), which sends it to the
// rank with the same stage in the next replica.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/device.h"
#include "runtime/data/datasets/dataset.h"
#include "runtime/network/stage/stage_gradients.h"
#include "runtime/system/comm/network.h"

namespace penstock {

struct AuditedWork {
  Batch batch;                                   // the batch fields that layers of the stage read
  std::vector<Tensor> inputs, output_gradients;  // what the stage was given, forward and backward
  KeptGradients before;        // the stage's gradients before this micro-batch's were added
  std::vector<uint64_t> sums;  // Audit::first_sums(): the checksums of the first execution
};

// Sends `mine` to the next replica's rank in `replicas` (the last one sends to the first), and
// returns what the previous one has sent, in new tensors of the same shapes. Blocks; collective
// over `replicas`, the ranks that hold the same stages. All of them run the same program and call
// this at the same instruction of it, so this cannot deadlock.
[[nodiscard]] AuditedWork pass_on(const AuditedWork& mine, Collective& replicas, Device& device);

}  // namespace penstock
