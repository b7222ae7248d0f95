// runtime/planning/drawing/page.h -- page(): an HTML page in which a reader explores pipeline
// schedules with sliders: what `penstock schedule --format html` writes.
//
// The page first shows the given answer. When the reader moves a slider (number of stages, of
// micro-batches, times), its script draws the schedule for the new settings. No server is asked:
// the one HTML file holds the programs of all schedules at all sizes that the sliders reach
// (program_grid.h), and the script computes when each instruction runs. The page also opens
// trace.json files of runs (runtime/records/telemetry/trace_json.h). Its HTML, CSS and JavaScript
// are the files in page/.
#pragma once

#include <string>

#include "runtime/planning/drawing/answer.h"

namespace penstock {

// The text of the whole HTML file. `compare` is the name of the known schedule that the page shows
// beside the answer at first; empty: none.
[[nodiscard]] std::string page(const ScheduleAnswer& answer, const std::string& compare = "");

}  // namespace penstock
