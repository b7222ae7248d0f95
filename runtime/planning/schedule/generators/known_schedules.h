// runtime/planning/schedule/generators/known_schedules.h -- the one table of schedules: names,
// descriptions, generators, and closed forms of bubble and peak stash.
//
// A new schedule is a generator (generators.h) and a row here. Menus, help, plans and the page read
// this table; there is no other list of names.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/planning/schedule/schedule.h"

namespace penstock {

struct PipelineSizes {
  int ranks = 1;
  int chunks = 1;  // stages per rank
  int micro_batches = 1;
};

// Times of all layers of a rank on one micro-batch, in any one unit.
struct RankTimes {
  double forward = 1, backward_input = 1, backward_weight = 1;
};

struct KnownSchedule {
  const char* name;
  const char* about;  // one sentence, for menus
  int chunks;         // stages per rank, unless others are asked for
  bool any_chunks;    // whether others can be asked for
  Schedule (*make)(const PipelineSizes& sizes);
  // Closed forms, where messages cost nothing and nothing is recomputed: the makespan bubble
  // (timeline.h) in the unit of the times, and the most stashes that a rank holds. Nullopt for
  // sizes and times for which no form is known.
  std::optional<double> (*bubble)(const PipelineSizes& sizes, const RankTimes& times);
  std::optional<int> (*peak_stash)(const PipelineSizes& sizes, int rank);
};

[[nodiscard]] std::span<const KnownSchedule> known_schedules();
// Throws std::invalid_argument for an unknown name, listing the known ones.
[[nodiscard]] const KnownSchedule& known_schedule(const std::string& name);

// The names alone, in the table's order.
[[nodiscard]] std::vector<std::string> schedule_names();

// The stages per rank of that schedule when nobody asks for another number. Throws
// std::invalid_argument for an unknown name.
[[nodiscard]] int default_chunks(const std::string& name);

// The schedule of that name. `chunks` is the number of stages per rank; 0 takes the schedule's own.
// Throws std::invalid_argument for an unknown name, and for sizes that the schedule cannot have.
[[nodiscard]] Schedule make_schedule(const std::string& name, int ranks, int micro_batches,
                                     int chunks = 0);

}  // namespace penstock
