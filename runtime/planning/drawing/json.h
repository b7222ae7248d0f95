// runtime/planning/drawing/json.h -- writes the settings and the answer of `penstock schedule` as
// JSON text.
//
// `penstock schedule --json` prints answer_json(). The HTML page (page.h) holds all three texts,
// from which its script draws the first picture and fills its menu. docs/output.md describes the
// format for users.
#pragma once

#include <string>

#include "runtime/planning/drawing/answer.h"

namespace penstock {

// The settings as an object with these keys: schedule, stages, micro_batches, chunks, warm_up,
// recompute, times (an array: forward, input half, weight half of the backward), latency, csv.
[[nodiscard]] std::string settings_json(const ScheduleSettings& settings);

// The answer as an object. It lists forwards and backwards only, no messages and no recomputes.
//
// The keys that docs/output.md promises to users: ranks, stages, micro_batches; programs (by rank,
// an array of instructions such as "F0.3": op, stage, micro-batch); makespan, makespan_bubble,
// span_bubble (timeline.h); peak_stash (by rank).
//
// The keys for drawing: peak_weight_halves (by rank); rank_of_stage (by stage); timeline (by rank,
// an array of [instruction, start, end]); stash (by rank, an array of [time, number of stashes held
// from that time on]).
[[nodiscard]] std::string answer_json(const ScheduleAnswer& answer);

// All known schedules, for the page's menu: [{name, chunks, chunks_vary, about}, ...]. chunks: the
// default number of stages per rank; chunks_vary: whether the user may choose another number;
// about: one sentence of description.
[[nodiscard]] std::string schedules_json();

}  // namespace penstock
