// runtime/planning/drawing/json.h -- questions and answers as JSON: what `penstock schedule --json`
// prints, and what the page begins with.
#pragma once

#include <string>

#include "runtime/planning/drawing/answer.h"

namespace penstock {

// An object with the options' names as keys: schedule, stages, micro_batches, chunks, recompute,
// times [F, B, W], latency; and csv.
[[nodiscard]] std::string settings_json(const ScheduleSettings& settings);

// {ranks, stages, micro_batches, programs: [[...]], makespan, makespan_bubble, span_bubble,
// peak_stash: [...]}, the contract of docs/output.md, with compute instructions only;
// peak_weight_halves: [...] by rank; and for drawing: rank_of_stage; timeline, by rank
// [instruction, start, end] of each compute instruction; stash, by rank [time, how many stashes are
// held from then on].
[[nodiscard]] std::string answer_json(const ScheduleAnswer& answer);

// All known schedules, for a menu: [{name, chunks, chunks_vary, about}, ...]. chunks: stages per
// rank, unless others are asked for; chunks_vary: whether others can be asked for; about: a
// sentence.
[[nodiscard]] std::string schedules_json();

}  // namespace penstock
