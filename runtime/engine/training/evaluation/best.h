// runtime/engine/training/evaluation/best.h -- which evaluation is the best so far by the metric of
// checkpoint.best, and when run.patience ends the run. Pure: every rank has the same numbers of an
// evaluation, and so comes to the same answers.
#pragma once

#include <string>

#include "runtime/planning/blueprint/config.h"
#include "runtime/records/checkpoint/manifest.h"
#include "runtime/records/telemetry/records.h"

namespace penstock {

// The metric, checkpoint.best, is everywhere "loss" (the smaller the better), "accuracy" (the
// larger the better) or "none" (no best evaluation is looked for).

// Throws Error(Input), on every rank, where checkpoint.best or run.patience asks for what
// evaluations of this run do not record. `validation_samples`: how many there are. `is_classifier`:
// whether evaluations have an accuracy.
void check_best(const Config& config, int64_t validation_samples, bool is_classifier);

// Called after each evaluation: `best` becomes that of `record` if it is better by `metric` than
// the best so far, else best.since is increased by 1. Of equal ones the earlier stays the best, and
// one whose loss or metric is not finite never is. Does nothing for "none".
void take_evaluation(const std::string& metric, const EvalRecord& record, BestEvaluation& best);

// Whether run.patience (0: no limit) or more evaluations have been made since the best one.
[[nodiscard]] bool patience_is_over(const RunConfig& run, const BestEvaluation& best);
// The same for a run that goes on from a checkpoint with this state. The evaluations of another
// metric do not count.
[[nodiscard]] bool patience_is_over(const Config& config, const CheckpointState& saved);

// Text for the user: "no better loss on validation data in 3 evaluations; the best was 1.8812 after
// step 120".
[[nodiscard]] std::string describe(const std::string& metric, const BestEvaluation& best);

}  // namespace penstock
