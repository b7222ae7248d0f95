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
#include <vector>

#include "runtime/planning/drawing/answer.h"

namespace penstock {

// What the page of a searched schedule says besides; empty: it was not searched.
struct SearchNotes {
  std::string bound = {};                   // below what no order goes, and why, in a sentence
  std::vector<int> limiting_ranks = {};     // those that the sentence names; the page marks them
  std::string costs_file = {};              // empty: stages are alike, and times are the reader's
  std::vector<ScheduleAnswer> others = {};  // known schedules at the costs of that file
};

// The text of the whole HTML file. `compare` is the name of the known schedule that the page shows
// beside the answer at first; empty: none. With a file of costs the page has the answer and
// notes.others, and no sliders of sizes and times. It outlines ScheduleAnswer::path.
[[nodiscard]] std::string page(const ScheduleAnswer& answer, const std::string& compare = "",
                               const SearchNotes& notes = {});

}  // namespace penstock
