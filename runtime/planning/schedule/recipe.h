// runtime/planning/schedule/recipe.h -- makes programs that are ready to run from a Recipe: a
// schedule by name or as CSV, its sizes, what is recomputed, and the number of replicas. Runs,
// plans and pictures all make their schedules here, so that what is drawn is what would run.
#pragma once

#include <string>
#include <vector>

#include "runtime/planning/schedule/proof/replay.h"
#include "runtime/planning/schedule/proof/verify.h"
#include "runtime/planning/schedule/schedule.h"

namespace penstock {

struct Recipe {
  std::string schedule = "1f1b";  // a name (known_schedules.h), or with `csv` its name for errors
  // A schedule of the user's as text (csv.h); empty: none. The text has its own sizes: `stages` and
  // `micro_batches` must equal them or be 0; `chunks` is not read.
  std::string csv = {};
  int stages = 1;
  int micro_batches = 1;
  int chunks = 0;                  // stages per rank; 0: the schedule's own
  std::string recompute = "none";  // none | stage | layer
  int replicas = 1;                // gradients are summed where there are several
  std::vector<Skip> skips = {};    // Schedule::skips
};

// A lowered schedule, and its proof under the transport's rules.
struct ProvedSchedule {
  Schedule schedule;
  Proof proof;
};

// All these throw std::invalid_argument with a sentence that names the option: for an unknown
// schedule or mode, a file that is no schedule or has other sizes, chunks that do not divide the
// stages, and what verify() refuses.
[[nodiscard]] int stages_per_rank(const Recipe& recipe);
[[nodiscard]] int ranks_per_pipeline(const Recipe& recipe);
// The training schedule, lowered but not proved: for callers that look at many schedules and run
// few.
[[nodiscard]] Schedule unproved_training_schedule(const Recipe& recipe);
[[nodiscard]] ProvedSchedule training_schedule(const Recipe& recipe,
                                               const TransportRules& rules = {});
// An evaluation: the placement of the training schedule and its order of forwards, with no
// backward.
[[nodiscard]] ProvedSchedule evaluation_schedule(const Recipe& recipe,
                                                 const TransportRules& rules = {});

}  // namespace penstock
