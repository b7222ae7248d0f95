// runtime/planning/blueprint/searched_run.h -- what pipeline.schedule = "searched" comes to in a
// run: the schedule that is found for the costs of its layers, its links and its memory.
//
// One rank searches; all ranks then have the text of what it found in PipelineConfig::schedule_csv,
// and go on as with any other schedule. Bits do not depend on it.
#pragma once

#include "runtime/planning/blueprint/plan_request.h"
#include "runtime/planning/plan/searched_step.h"

namespace penstock {

// A run as the search sees it.
struct SearchedRun {
  Arrangement candidate;  // with the split that the run will have
  ModelCosts costs;
};

// Reads the run: its split is pipeline.split or the one that draw_up() chooses. Throws Error(Input)
// for what is wrong with the network, the split or the sizes.
[[nodiscard]] SearchedRun searched_run(const Config& config, const Sequential& model,
                                       const ModelInput& input, const CostsByCut& costs);

// How much is tried in a re-plan, for which training stands still; at a start it is kRunEffort.
inline constexpr SearchEffort kReplanEffort{.seed = 1, .instructions = 3'000'000, .seconds = 20};

}  // namespace penstock
