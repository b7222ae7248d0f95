// runtime/planning/schedule/generators/known_schedules.h -- the table of all pipeline schedules:
// the name that users write, a description, the function that makes the schedule, and formulas for
// its bubble and memory.
//
// make_schedule("zb-h1", 4, 8) gives the schedule of that name for 4 ranks and 8 micro-batches.
// Menus, help, the planner and the HTML page all read this table. To add a schedule, write a
// generator (generators.h), its formulas (closed_forms.h), and a row in known_schedules.cpp.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/planning/schedule/schedule.h"

namespace penstock {

struct PipelineSizes {
  int ranks = 1;          // of one pipeline
  int chunks = 1;         // stages per rank
  int micro_batches = 1;  // of one pipeline in one step
  int warm_up = 0;        // forwards that rank 0 runs ahead beyond the schedule's own (warm_up.h)
};

// Times of all layers of a rank on one micro-batch, in one unit of the caller's choice. The two
// halves of a backward give the gradient of the inputs and that of the weights.
struct RankTimes {
  double forward = 1, backward_input = 1, backward_weight = 1;
};

// A row of the table.
struct KnownSchedule {
  const char* name;
  const char* about;         // one sentence, for menus
  int chunks = 1;            // stages per rank by default
  bool any_chunks = false;   // whether the caller may ask for another number of them
  bool any_warm_up = false;  // whether the caller may ask for a warm_up
  // Makes the schedule, with compute instructions only. Throws std::invalid_argument for sizes that
  // it cannot have.
  Schedule (*make)(const PipelineSizes& sizes);
  // The same with the stages on these ranks, by stage (placed(), placement.h); null where the
  // schedule places stages itself.
  Schedule (*make_on)(const std::vector<int>& rank_of_stage, int micro_batches) = nullptr;
  // Formulas for steps in which messages take no time and nothing is recomputed (closed_forms.h):
  // the makespan bubble (timeline.h) in the unit of `times`, and the most stashes (micro-batches of
  // one stage whose activations are kept) that `rank` holds at once. They return nullopt for sizes
  // and times for which no formula is known.
  std::optional<double> (*bubble)(const PipelineSizes& sizes, const RankTimes& times);
  std::optional<int> (*peak_stash)(const PipelineSizes& sizes, int rank);
};

// All rows. The table lives as long as the program.
[[nodiscard]] std::span<const KnownSchedule> known_schedules();
// Throws std::invalid_argument for an unknown name, listing the known ones.
[[nodiscard]] const KnownSchedule& known_schedule(const std::string& name);

// The names alone, in the table's order.
[[nodiscard]] std::vector<std::string> schedule_names();

// The default number of stages per rank of the schedule with this name. Throws
// std::invalid_argument for an unknown name.
[[nodiscard]] int default_chunks(const std::string& name);

// Makes the schedule with this name, with compute instructions only: lower() adds the rest.
// `chunks` is the number of stages per rank; 0 takes the schedule's default. `warm_up` is
// PipelineSizes::warm_up. Throws std::invalid_argument for an unknown name, and for sizes that the
// schedule cannot have.
[[nodiscard]] Schedule make_schedule(const std::string& name, int ranks, int micro_batches,
                                     int chunks = 0, int warm_up = 0);

// The same with the stages on these ranks, by stage. Throws std::invalid_argument, too, for a
// schedule that places stages itself.
[[nodiscard]] Schedule make_schedule_on(const std::string& name,
                                        const std::vector<int>& rank_of_stage, int micro_batches,
                                        int warm_up = 0);

// The schedule in this placement, for those who try all known ones; null where it has another one,
// or another number of stages on a rank. Where ranks hold unequal numbers, only one that can have
// any placement has it.
[[nodiscard]] std::optional<Schedule> schedule_if_on(const KnownSchedule& known,
                                                     const std::vector<int>& rank_of_stage,
                                                     int micro_batches);

}  // namespace penstock
