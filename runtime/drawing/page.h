// runtime/drawing/page.h -- the page that explains a schedule: one file of HTML that asks the
// network for nothing.
//
// It begins with the given answer drawn. Where the build found emscripten (PENSTOCK_PAGE), this
// room and runtime/schedule travel inside as WebAssembly, and the page asks them again whenever a
// slider moves; else it shows the one answer and says so. Either way it opens traces
// (runtime/telemetry/trace_json.h). Its parts are the files in page/.
#pragma once

#include <string>

#include "runtime/drawing/answer.h"

namespace penstock {

[[nodiscard]] std::string page(const ScheduleAnswer& answer);

// Is the library inside?
[[nodiscard]] bool page_is_live();

}  // namespace penstock
