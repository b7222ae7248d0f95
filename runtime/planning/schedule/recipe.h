// runtime/planning/schedule/recipe.h -- makes schedules that are ready to run: from a Recipe
// (schedule name or CSV, sizes, recompute mode, number of replicas) to programs with messages,
// proved correct.
//
// A recipe goes through three steps: a generator or the CSV text gives the order of forwards and
// backwards, lower() (lower.h) adds messages, recomputes, sums and the update, verify()
// (proof/verify.h) proves the result. Training, planning and drawing all make their schedules here,
// so what is drawn or planned is what would run.
#pragma once

#include <string>
#include <vector>

#include "runtime/planning/schedule/proof/replay.h"
#include "runtime/planning/schedule/proof/verify.h"
#include "runtime/planning/schedule/schedule.h"

namespace penstock {

// This name stands for the schedule that a search finds for the costs of the run
// (search/search.h). A Recipe with it has the text of what was found in `csv`.
inline constexpr const char* kSearched = "searched";

struct Recipe {
  // A name in known_schedules.h; with `csv` only what error messages call the text.
  std::string schedule = "1f1b";
  // A schedule that the user has written, as CSV text (text/csv.h); empty: none. The text has its
  // own sizes: `stages` and `micro_batches` must equal them or be 0, and `chunks` is not read; and
  // its own placement, which `stage_ranks` must equal where it is given. It has its own warm-up, so
  // `warm_up` must be 0.
  std::string csv = {};
  int stages = 1;         // of the whole pipeline
  int micro_batches = 1;  // of one replica
  int chunks = 0;         // stages per rank; 0: the schedule's default
  // The rank of each stage, from 0 to the largest in the list, each of which holds one stage at
  // least; empty: where the schedule places them. Beside it `chunks` must be 0.
  std::vector<int> stage_ranks = {};
  int warm_up = 0;  // forwards ahead beyond the schedule's own (generators/warm_up.h)
  // none | stage | layer: what of a forward is run again before its backward (docs/concepts.md)
  std::string recompute = "none";
  // In mode stage, those that run no forward again all the same, each once.
  std::vector<int> kept_stages = {};
  // Whole pipelines side by side; with several, ReduceGradients instructions are added.
  int replicas = 1;
  std::vector<Skip> skips = {};  // the skip connections between stages; see Schedule::skips
};

// A schedule with messages, and what verify() found when it proved it under the given
// TransportRules.
struct ProvedSchedule {
  Schedule schedule;
  Proof proof;
};

// All functions below throw std::invalid_argument with a sentence that names the option: for an
// unknown schedule or recompute mode, kept stages that do not exist, are listed twice or stand
// beside another mode than stage, a CSV text that is no schedule or has other sizes, chunks that do
// not divide the stages, stage_ranks that leave a rank out or do not fit the rest, a warm-up of a
// schedule that has none, and what verify() refuses.

// The most of any rank.
[[nodiscard]] int stages_per_rank(const Recipe& recipe);
// The ranks of one replica: stages / stages_per_rank(), where all hold equally many.
[[nodiscard]] int ranks_per_pipeline(const Recipe& recipe);
// By stage, the rank that holds it, where the sizes do not say it: stage_ranks, or the placement of
// a CSV text in which ranks hold unequal numbers of stages; else empty.
[[nodiscard]] std::vector<int> listed_placement(const Recipe& recipe);
// The training schedule, lowered but without the proof, which takes time: for the planner, which
// looks at many schedules and runs one.
[[nodiscard]] Schedule unproved_training_schedule(const Recipe& recipe);
// The training schedule, lowered and proved. `rules`: whether sends wait (proof/replay.h).
[[nodiscard]] ProvedSchedule training_schedule(const Recipe& recipe,
                                               const TransportRules& rules = {});
// The schedule of an evaluation, lowered and proved: the forwards of the training schedule on the
// same ranks and in the same order, without backwards.
[[nodiscard]] ProvedSchedule evaluation_schedule(const Recipe& recipe,
                                                 const TransportRules& rules = {});

}  // namespace penstock
