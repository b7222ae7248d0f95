// runtime/planning/drawing/answer.h -- one question about a schedule, and all that a picture of it
// shows.
//
// The terminal and the SVG draw this answer. The page begins with it, and works out the answers to
// other settings itself (page/programs.js); tests/page compares the two.
#pragma once

#include <string>
#include <vector>

#include "runtime/planning/schedule/schedule.h"
#include "runtime/planning/schedule/timing/timeline.h"

namespace penstock {

// Times are those of all layers of one rank on one micro-batch, in any one unit, so that schedules
// with more stages per rank compare with others: a stage takes its even share. A recompute takes
// the time of a forward; in mode layer it is a part of the backward.
struct ScheduleSettings {
  std::string schedule = "1f1b";
  // A schedule of the user's (runtime/planning/schedule/text/csv.h), for which `schedule` is only a
  // name; stages, micro-batches and chunks are those it has.
  std::string csv = {};
  int stages = 4;
  int micro_batches = 8;
  int chunks = 0;  // stages per rank; 0: the schedule's own
  std::string recompute = "none";
  double forward = 1;
  double backward_input = 1;
  double backward_weight = 1;
  double latency = 0;  // of a message between neighbours
};

// The number of stashes that are alive on a rank from this time on.
struct StashLevel {
  double time = 0;
  int held = 0;
};

struct ScheduleAnswer {
  ScheduleSettings settings;                   // with the sizes that it came to
  Schedule schedule;                           // lowered and verified
  Timeline timeline;                           // of the simulation
  std::vector<int> peak_stash;                 // by rank (verify.h)
  std::vector<int> peak_weight_halves;         // likewise
  std::vector<std::vector<StashLevel>> stash;  // by rank, ascending in time
};

// Throws std::invalid_argument for settings that make no sense, naming the option.
[[nodiscard]] ScheduleAnswer answer(const ScheduleSettings& settings);

// A line to put above a picture: "zb-v: ranks 4, stages 8, micro-batches 8".
[[nodiscard]] std::string title(const ScheduleAnswer& answer);

}  // namespace penstock
