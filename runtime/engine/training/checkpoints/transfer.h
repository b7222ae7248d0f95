// runtime/engine/training/checkpoints/transfer.h -- starting from the weights of another run
// (`--init`): which tensors of its checkpoint fit this network, by name.
#pragma once

#include <string>

#include "runtime/engine/pipeline/pipeline.h"
#include "runtime/planning/blueprint/config.h"
#include "runtime/planning/blueprint/layout.h"
#include "runtime/records/telemetry/records.h"

namespace penstock {

// The checkpoint that `path` means: itself, or the newest one of a run directory. Throws
// Error(Input) when it is neither.
[[nodiscard]] std::string checkpoint_at(const std::string& path);

// Compares the checkpoint init.from with the network; reads no values. Throws Error(Input) for a
// pattern of init.skip that fits nothing, a tensor of another shape, or no tensor in common.
[[nodiscard]] TransferRecord plan_transfer(const InitConfig& init, const Layout& layout);

// Loads the tensors of the plan that this rank holds. To be called before moving averages start at
// the weights.
void transfer(const TransferRecord& plan, Pipeline& pipeline, Device& device);

// "init: 62 of 65 tensors from runs/nine/...; skipped: a, b; not in the checkpoint: c"
[[nodiscard]] std::string describe(const TransferRecord& record);

}  // namespace penstock
