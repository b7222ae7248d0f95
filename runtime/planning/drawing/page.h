// runtime/planning/drawing/page.h -- the page that explains a schedule: one file of HTML that asks
// the network for nothing.
//
// The page begins with the given answer drawn, and draws another whenever a slider moves: it holds
// the programs of all schedules, up to the sizes of program_grid.h, and computes their times
// itself. It opens traces, too (runtime/records/telemetry/trace_json.h). Its parts are the files in
// page/.
#pragma once

#include <string>

#include "runtime/planning/drawing/answer.h"

namespace penstock {

// The text of the whole HTML file.
[[nodiscard]] std::string page(const ScheduleAnswer& answer);

}  // namespace penstock
