// runtime/engine/training/checkpoints/transfer.h -- starts a training run from the weights of
// another run (transfer learning, option --init): finds out which tensors of that run's checkpoint
// fit this network, by name and shape, and loads them. The optimizer, the data and the step number
// start anew.
#pragma once

#include <string>

#include "runtime/engine/pipeline/pipeline.h"
#include "runtime/planning/blueprint/config.h"
#include "runtime/planning/blueprint/layout.h"
#include "runtime/records/telemetry/records.h"

namespace penstock {

// The checkpoint that `path` means: itself or, for a run directory, its newest one. Throws
// Error(Input) when it is neither.
[[nodiscard]] std::string checkpoint_at(const std::string& path);

// Compares the names and shapes in the checkpoint init.from with those of the network, which
// `layout` lists (runtime/planning/blueprint/layout.h), and decides which tensors are loaded.
// Tensors that a pattern of init.skip fits are left out. Reads no values. Throws Error(Input) for a
// pattern that fits nothing, a tensor of the same name with another shape, or no tensor in common.
[[nodiscard]] TransferRecord plan_transfer(const InitConfig& init, const Layout& layout);

// Loads the tensors of the plan that this rank holds. Not collective: every rank calls it for
// itself. Called before moving averages of the weights are made, since these start from the
// weights. Throws Error(Data) naming a file of the checkpoint that is damaged.
void transfer(const TransferRecord& plan, Pipeline& pipeline, Device& device);

// Text for the user: "init: 62 of 65 tensors from runs/nine/...; skipped: a, b; not in the
// checkpoint: c".
[[nodiscard]] std::string describe(const TransferRecord& record);

}  // namespace penstock
