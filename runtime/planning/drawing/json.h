// runtime/planning/drawing/json.h -- questions and answers as JSON: what `penstock schedule --json`
// prints, and what the page begins with.
#pragma once

#include <string>

#include "runtime/planning/drawing/answer.h"

namespace penstock {

// Keys as the options are called: schedule, stages, micro_batches, chunks, recompute, times
// [F, B, W], latency; and csv.
[[nodiscard]] std::string settings_json(const ScheduleSettings& settings);

// {ranks, stages, micro_batches, programs: [[...]], makespan, makespan_bubble, span_bubble,
// peak_stash: [...]}, the contract of docs/output.md, programs with compute instructions only;
// peak_weight_halves, by rank as peak_stash; and for drawing: rank_of_stage; timeline, by rank
// [instruction, start, end] for each of those; stash, by rank [time, how many are held from then
// on].
[[nodiscard]] std::string answer_json(const ScheduleAnswer& answer);

// The schedules there are, for a menu: [{name, chunks, chunks_vary, about}, ...]. chunks: the
// stages per rank that a schedule has unless asked for others; chunks_vary: whether it can be
// asked; about: a sentence.
[[nodiscard]] std::string schedules_json();

}  // namespace penstock
