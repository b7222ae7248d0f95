// runtime/planning/drawing/answer.h -- answer(): what `penstock schedule` draws: a pipeline
// schedule made for given settings, when each of its instructions runs, and how much each rank
// keeps.
//
// ScheduleSettings go in: the name of a schedule, its sizes and the times of its passes. answer()
// makes the schedule, proves it and simulates one training step. A ScheduleAnswer comes out: the
// programs, the start and end of each instruction, and the stashes of each rank (what forwards keep
// for their backwards: saved activations) over time. terminal.h, svg.h, json.h and page.h each turn
// a ScheduleAnswer into text. The words are those of docs/concepts.md.
#pragma once

#include <string>
#include <vector>

#include "runtime/planning/schedule/schedule.h"
#include "runtime/planning/schedule/timing/costs.h"
#include "runtime/planning/schedule/timing/timeline.h"

namespace penstock {

// The question. Times are those of all layers of one rank on one micro-batch, in one unit of the
// caller's choice; each of the n stages of a rank takes 1/n of them, so that schedules with
// different numbers of stages per rank can be compared; where ranks hold unequal numbers, n is
// their mean. A recompute (the forward run again before the backward) takes the time of a forward;
// in mode "layer" that time is added to the backward.
struct ScheduleSettings {
  std::string schedule = "1f1b";  // a name in known_schedules.h
  // A schedule that the user has written, as CSV text (runtime/planning/schedule/text/csv.h);
  // empty: none. The text sets the sizes, so `stages`, `micro_batches` and `chunks` are not read,
  // and `schedule` is only the name to show.
  std::string csv = {};
  int stages = 4;  // of the whole pipeline
  int micro_batches = 8;
  int chunks = 0;  // stages per rank, the most of any; 0: the default of the schedule
  // The rank of each stage, of which there are `stages`; empty: where the schedule has them.
  std::vector<int> stage_ranks = {};
  int warm_up = 0;                 // forwards ahead beyond the schedule's own (pipeline.warm_up)
  std::string recompute = "none";  // none | stage | layer
  double forward = 1;
  double backward_input = 1;   // the half of a backward that gives the gradient of the inputs
  double backward_weight = 1;  // the half that gives the gradient of the weights
  double latency = 0;          // what each message between two ranks takes, in the same unit
};

// A rank holds `held` stashes (one: one micro-batch of one stage) from `time` until the time of the
// next StashLevel of its list.
struct StashLevel {
  double time = 0;  // in the unit of the settings; the step begins at 0
  int held = 0;
};

struct ScheduleAnswer {
  // The question, with the sizes that the schedule has in place of 0 and of what a CSV text
  // overrides.
  ScheduleSettings settings;
  std::string costs;            // the times, for people: "F,B,W = 1,1,1, latency 0"
  Schedule schedule;            // messages and recomputes included (lower()), proved (verify())
  Timeline timeline;            // simulated start and end of each instruction
  std::vector<int> peak_stash;  // by rank: the most stashes at once
  // One per rank: the most micro-batches at once whose input half has run and whose weight half has
  // not.
  std::vector<int> peak_weight_halves;
  std::vector<std::vector<StashLevel>> stash;  // by rank, ascending in time
  // The compute instructions of the longest path, which decide how long the step is; empty: they
  // are not known.
  std::vector<Instruction> path = {};
};

// Throws std::invalid_argument for an unknown schedule, sizes that it cannot have, negative times
// or a bad CSV text; the message names the option of `penstock schedule`.
[[nodiscard]] ScheduleAnswer answer(const ScheduleSettings& settings);

// The answer for a schedule of compute instructions that was made elsewhere, of unlike stages, say.
// `name` and `costs_text` are what titles call the schedule and its costs. Throws
// std::invalid_argument where it cannot run or the costs do not fit it.
[[nodiscard]] ScheduleAnswer answer_for(const std::string& name, const Schedule& schedule,
                                        bool recompute, const PipelineCosts& costs,
                                        const std::string& costs_text);

// The costs of the settings' stages where `ranks` share `stages` of them, and their text. The
// settings' sizes are not read. Throws std::invalid_argument for negative times.
[[nodiscard]] PipelineCosts settings_costs(const ScheduleSettings& settings, int ranks, int stages);
[[nodiscard]] std::string settings_costs_text(const ScheduleSettings& settings);

// A line to put above a picture: "zb-v: ranks 4, stages 8, micro-batches 8".
[[nodiscard]] std::string title(const ScheduleAnswer& answer);

}  // namespace penstock
