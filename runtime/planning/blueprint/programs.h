// runtime/planning/blueprint/programs.h -- make_programs(): the instructions of every rank of a
// pipeline, for training and for evaluation, from the [pipeline] section of a run file.
//
// It is a thin layer over runtime/planning/schedule/recipe.h: it translates options into a Recipe,
// and errors into Error(Input), which ends the program with a sentence for the user.
#pragma once

#include <string>
#include <vector>

#include "runtime/planning/blueprint/config.h"
#include "runtime/planning/schedule/schedule.h"

namespace penstock {

// The programs of the ranks of one replica (all replicas have the same), complete with messages and
// proved correct. An evaluation has forwards only.
struct Programs {
  Schedule training, evaluation;
};

// The four functions that take stages to ranks throw Error(Input) when the schedule is unknown, its
// CSV text is no schedule, its chunks (stages per rank) do not divide the stages, or stage_ranks do
// not fit (recipe.h); make_programs() also where verify() refuses the result. `skips` are the pairs
// of stages that are joined by skip connections and are not neighbours (Layout::stage_skips()).
[[nodiscard]] Programs make_programs(const PipelineConfig& pipeline,
                                     const std::vector<Skip>& skips = {});
// These say the same as those of recipe.h.
[[nodiscard]] int stages_per_rank(const PipelineConfig& pipeline);
[[nodiscard]] int ranks_per_pipeline(const PipelineConfig& pipeline);
[[nodiscard]] std::vector<int> listed_placement(const PipelineConfig& pipeline);

// The pipeline with a known schedule where it has the searched one: 1f1b or, with several stages a
// rank or stages placed by the user, looped-bfs. For what comes before the search, as the split of
// layers does, or needs none.
[[nodiscard]] PipelineConfig with_known_schedule(PipelineConfig pipeline);

// What is computed again, in words (runtime/planning/schedule/text/recompute_text.h).
[[nodiscard]] std::string recompute_text(const PipelineConfig& pipeline);

}  // namespace penstock
