// runtime/planning/drawing/page.h -- the page that explains a schedule: one file of HTML that asks
// the network for nothing.
//
// It begins with the given answer drawn, and answers anew whenever a slider moves: the programs of
// all schedules travel inside, up to the sizes of program_grid.h, and the page works out their
// times. It opens traces, too (runtime/records/telemetry/trace_json.h). Its parts are the files in
// page/.
#pragma once

#include <string>

#include "runtime/planning/drawing/answer.h"

namespace penstock {

// All of the file's HTML.
[[nodiscard]] std::string page(const ScheduleAnswer& answer);

}  // namespace penstock
