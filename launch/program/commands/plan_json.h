// launch/program/commands/plan_json.h -- a plan for other programs.
#pragma once

#include <string>

#include "runtime/plan/plan.h"

namespace penstock {

// {parameters, candidates: [{stages, replicas, chunks, micro_batches, micro_batch_size, schedule,
// recompute, split, feasible, simulated, reason, step_ms, samples_per_s, bubble,
// exposed_communication_ms, peak_bytes: [by rank of one pipeline]}]}, fastest first. Feasible is
// what was found to fit and simulated; all else has a reason, and null for its times.
[[nodiscard]] std::string plan_json(const Plan& plan);

}  // namespace penstock
