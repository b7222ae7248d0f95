// launch/program/planning/plan_json.h -- a plan for other programs.
#pragma once

#include <string>
#include <vector>

#include "launch/program/planning/plan_replay.h"
#include "runtime/planning/plan/plan.h"

namespace penstock {

// {parameters, candidates: [{stages, replicas, chunks, micro_batches, micro_batch_size, schedule,
// recompute, split, feasible, simulated, reason, step_ms, samples_per_s, bubble,
// exposed_communication_ms, peak_bytes: [by rank of one pipeline]}]}, fastest first. A feasible
// candidate fits and was simulated; any other has a reason, and null for its times. A candidate of
// `replays` also has replayed: {step_ms, slowest_ms, card_busy, goodput, checkpoint_interval_s
// (with failures)}.
[[nodiscard]] std::string plan_json(const Plan& plan, const std::vector<Replayed>& replays = {});

}  // namespace penstock
