// runtime/planning/schedule/text/csv.h -- parse_csv() and to_csv(): schedules as text that a
// spreadsheet or a script can write.
//
// One line per rank, in order; a cell per compute instruction, separated by commas and written as
// text() writes it: op, stage, micro-batch.
//   F0.0,F0.1,    ,    ,B0.0,B0.1
//       ,F1.0,B1.0,F1.1,B1.1
// Empty cells are idle slots and mean nothing: instructions run as early as they can. Ranks,
// stages, micro-batches and which rank holds which stage follow from the cells. Recomputes,
// messages, reductions and the update are not written; lower() inserts them.
#pragma once

#include <string>
#include <string_view>

#include "runtime/planning/schedule/schedule.h"

namespace penstock {

// Blanks around cells, lines that start with '#', empty lines at the end, CR LF and a byte order
// mark are no harm. `name` is what errors call the text, a file name for instance. Throws
// std::invalid_argument naming line and cell if this is no well-formed schedule (well_formed.h)
// that forwards every micro-batch on every stage; the rest of the proof is verify()'s business.
[[nodiscard]] Schedule parse_csv(std::string_view text, const std::string& name);

// The compute instructions, without what lower() inserts. From them parse_csv() makes the schedule
// as it was before lower(), but for its skips.
[[nodiscard]] std::string to_csv(const Schedule& schedule);

}  // namespace penstock
