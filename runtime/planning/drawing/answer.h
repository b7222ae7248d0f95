// runtime/planning/drawing/answer.h -- answer(): simulates a schedule for given settings, and
// collects all that a picture of it shows.
//
// The terminal and the SVG draw this answer. The page begins with it, and computes the answers to
// other settings itself (page/programs.js); tests/page compares both.
#pragma once

#include <string>
#include <vector>

#include "runtime/planning/schedule/schedule.h"
#include "runtime/planning/schedule/timing/timeline.h"

namespace penstock {

// Times are for all layers of one rank on one micro-batch, in any one unit; each stage of a rank
// takes an even share, so that schedules with more stages per rank compare with others. A recompute
// takes the time of a forward; in mode layer it is a part of the backward.
struct ScheduleSettings {
  std::string schedule = "1f1b";
  // A schedule of the user's as text (runtime/planning/schedule/text/csv.h); empty: none. It has
  // its own stages, micro-batches and chunks, and `schedule` is only its name.
  std::string csv = {};
  int stages = 4;
  int micro_batches = 8;
  int chunks = 0;  // stages per rank; 0: the schedule's own
  std::string recompute = "none";
  double forward = 1;
  double backward_input = 1;
  double backward_weight = 1;
  double latency = 0;  // of a message between two ranks
};

// How many stashes a rank holds from this time on.
struct StashLevel {
  double time = 0;
  int held = 0;
};

struct ScheduleAnswer {
  ScheduleSettings settings;                   // sizes as the schedule has them
  Schedule schedule;                           // lowered and verified
  Timeline timeline;                           // of the simulation
  std::vector<int> peak_stash;                 // by rank: the most stashes at once
  std::vector<int> peak_weight_halves;         // by rank: the most weight halves at once
  std::vector<std::vector<StashLevel>> stash;  // by rank, ascending in time
};

// Throws std::invalid_argument for settings that make no sense, naming the option.
[[nodiscard]] ScheduleAnswer answer(const ScheduleSettings& settings);

// A line to put above a picture: "zb-v: ranks 4, stages 8, micro-batches 8".
[[nodiscard]] std::string title(const ScheduleAnswer& answer);

}  // namespace penstock
