// runtime/drawing/page.h -- the page that explains a schedule: one file of HTML that asks the
// network for nothing.
//
// It begins with the given answer drawn, and answers anew whenever a slider moves. Where the build
// found emscripten (PENSTOCK_PAGE), this room and runtime/schedule travel inside as WebAssembly. In
// every other installation the programs of all schedules travel inside, up to the sizes of
// program_grid.h, and the page works out their times. Either way it opens traces
// (runtime/telemetry/trace_json.h). Its parts are the files in page/.
#pragma once

#include <string>

#include "runtime/drawing/answer.h"

namespace penstock {

// Without the library, where that is not wanted or the build has none, the page holds programs.
[[nodiscard]] std::string page(const ScheduleAnswer& answer, bool with_library = true);

}  // namespace penstock
