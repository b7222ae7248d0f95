// runtime/planning/blueprint/programs.h -- make_programs(): the programs of a pipeline's ranks from
// the [pipeline] section. Pure.
#pragma once

#include "runtime/planning/blueprint/config.h"
#include "runtime/planning/schedule/schedule.h"

namespace penstock {

// The programs of one replica, lowered and verified.
struct Programs {
  Schedule training, evaluation;
};

// These throw Error(Input) when the schedule is unknown, its file is no schedule, or its chunks do
// not divide the stages; make_programs() also where verify() refuses the programs. `skips` are the
// pairs of stages that skips join past others.
[[nodiscard]] Programs make_programs(const PipelineConfig& pipeline,
                                     const std::vector<Skip>& skips = {});
[[nodiscard]] int stages_per_rank(const PipelineConfig& pipeline);
[[nodiscard]] int ranks_per_pipeline(const PipelineConfig& pipeline);

}  // namespace penstock
