// runtime/records/report/report.h -- run_page(): makes report.html, a page about one run: its
// state, curves of loss and speed, memory and time of each rank, timelines of steps, log. It is a
// single HTML file that loads nothing else.
#pragma once

#include <cstdint>
#include <string>

#include "runtime/records/report/reading/run_files.h"

namespace penstock {

// Returns the HTML of the page for `files` (read_run_files()). Its size is limited whatever the
// number of steps: curves are thinned (curve.h), and timelines leave out some steps or ranks, with
// a note, where there are many. Text from the files is escaped. `reload_s`: while the run goes on,
// the page reloads itself every so many seconds; 0: never. Throws Error(Data) if summary.json has a
// value of a wrong type.
[[nodiscard]] std::string run_page(const RunFiles& files, int64_t reload_s = 0);

}  // namespace penstock
