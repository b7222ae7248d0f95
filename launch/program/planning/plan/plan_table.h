// launch/program/planning/plan/plan_table.h -- prints the result of `penstock plan` as a table for
// the terminal.
#pragma once

#include <string>

#include "runtime/planning/plan/plan.h"

namespace penstock {

// The `top` fastest candidates, one a line; then those that do not fit or were left out, grouped by
// reason.
[[nodiscard]] std::string plan_table(const Plan& plan, int top);

// "1 network card a node, shared by its 8 ranks", or "all on one node"
[[nodiscard]] std::string cards_text(const Cluster& cluster);

// The mode for a narrow column: "none", "stage", "layer", or "mixed": stage but for some stages.
[[nodiscard]] std::string short_recompute(const Arrangement& candidate);

// "interleaved (4 a rank)": the schedule, with the stages of a rank where they are several.
[[nodiscard]] std::string schedule_text(const Arrangement& candidate);

// The options that make a run of a run file this candidate.
[[nodiscard]] std::string options_of(const Arrangement& candidate);

// The options of the fastest candidate, for `penstock train`, and where its step time comes from: a
// replay where the job's `ranks` are on several nodes. Empty where nothing fits.
[[nodiscard]] std::string recommendation(const Plan& plan, const Cluster& cluster, int ranks);

// The number of layers of each stage, with equal neighbours counted: "4 8x6 4" is 4, then 8 six
// times, then 4.
[[nodiscard]] std::string short_split(const std::vector<int>& split);

}  // namespace penstock
