// runtime/records/checkpoint/writer/retention.h -- which checkpoints of a run are removed when a
// new one is complete.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/records/checkpoint/checkpoint.h"
#include "runtime/records/checkpoint/layout.h"

namespace penstock {

// The checkpoints to remove among a run's complete ones, which are given by ascending step up to
// the new one. Pure.
[[nodiscard]] std::vector<StepDirectory> retired(const std::vector<StepDirectory>& of_the_run,
                                                 const Retention& retention);

// Removes what publish_step() replaced, and those checkpoints of `run` that are of earlier steps
// than `latest` and are not to stay. Others are left alone: of another run, of later steps, and
// what is no whole checkpoint. Throws Error(Resource) when something cannot be removed.
void retire_steps(const std::string& root, const Retention& retention, const std::string& run,
                  int64_t latest);

}  // namespace penstock
