// runtime/records/report/report.h -- writes report.html: what became of a run, as one file of HTML
// that loads nothing else. Pure.
#pragma once

#include <cstdint>
#include <string>

#include "runtime/records/report/reading/run_files.h"

namespace penstock {

// The page for what a run directory holds. Its size does not grow with the number of steps: curves
// keep the least and the greatest value of each of some hundred parts, and long timelines are cut,
// which the page says. The files are untrusted input and shown as text. Throws Error(Data) where
// the summary's figures are not what they should be. `reload_s`: how often, in seconds, the page
// reloads itself while the run goes on; 0: never.
[[nodiscard]] std::string run_page(const RunFiles& files, int64_t reload_s = 0);

}  // namespace penstock
