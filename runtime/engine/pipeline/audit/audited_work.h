// runtime/engine/pipeline/audit/audited_work.h -- AuditedWork: all that it takes to do again what
// one micro-batch did in one stage, on this rank or on the one that holds the stage in another
// replica.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/device.h"
#include "runtime/data/datasets/dataset.h"
#include "runtime/network/stage/stage_gradients.h"
#include "runtime/system/comm/network.h"

namespace penstock {

struct AuditedWork {
  Batch batch;                                   // the fields that layers read
  std::vector<Tensor> inputs, output_gradients;  // what the stage was given
  KeptGradients before;                          // before this micro-batch's were added
  std::vector<uint64_t> sums;                    // Audit::first_sums()
};

// Gives `mine` to the rank of the next replica and returns the work of the previous one, in new
// tensors of the same shapes. Collective over the replicas; all run the same program and are at the
// same place in it, so none waits for a rank that waits for it elsewhere.
[[nodiscard]] AuditedWork pass_on(const AuditedWork& mine, Collective& replicas, Device& device);

}  // namespace penstock
