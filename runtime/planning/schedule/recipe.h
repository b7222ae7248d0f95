// runtime/planning/schedule/recipe.h -- from a user's request to programs that are ready to run: a
// schedule by name or as CSV, its sizes, what is recomputed, and whether there are replicas. Runs,
// plans and pictures all make their schedules here, so that what is drawn is what would run.
#pragma once

#include <string>
#include <vector>

#include "runtime/planning/schedule/proof/replay.h"
#include "runtime/planning/schedule/proof/verify.h"
#include "runtime/planning/schedule/schedule.h"

namespace penstock {

struct Recipe {
  std::string schedule = "1f1b";  // a name (known_schedules.h), or what errors call the CSV
  // A schedule of the user's (csv.h), if not empty. It has its own sizes: `stages` and
  // `micro_batches` must be those, or 0; `chunks` is not looked at.
  std::string csv = {};
  int stages = 1;
  int micro_batches = 1;
  int chunks = 0;                  // stages per rank; 0: the schedule's own
  std::string recompute = "none";  // none | stage | layer
  int replicas = 1;                // of more than one, gradients are summed
  std::vector<Skip> skips = {};
};

// A schedule that was lowered, and proved under the rules that were given.
struct ProvedSchedule {
  Schedule schedule;
  Proof proof;
};

// All throw std::invalid_argument with a sentence that names the option: for an unknown schedule
// or mode, a file that is no schedule or has other sizes, chunks that do not divide the stages, and
// what verify() refuses.
[[nodiscard]] int stages_per_rank(const Recipe& recipe);
[[nodiscard]] int ranks_per_pipeline(const Recipe& recipe);
// The schedule lowered, not proved: for callers that look at many and run few.
[[nodiscard]] Schedule unproved_training_schedule(const Recipe& recipe);
[[nodiscard]] ProvedSchedule training_schedule(const Recipe& recipe,
                                               const TransportRules& rules = {});
// The same placement and order of forwards, with no backward.
[[nodiscard]] ProvedSchedule evaluation_schedule(const Recipe& recipe,
                                                 const TransportRules& rules = {});

}  // namespace penstock
