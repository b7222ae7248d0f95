// runtime/records/report/page_data.h -- page_data_json(): the curves and timelines of report.html
// as JSON: its script draws them, and other programs may read them. The page's text, tables and
// single numbers are made by page_head.h.
#pragma once

#include <string>

#include "runtime/records/report/reading/run_facts.h"
#include "runtime/records/report/reading/run_files.h"

namespace penstock {

// Returns an object with these members:
//
//   curves    a list of {id, title, unit, steps, series}: steps is the number of points before
//             thinning; series is a list of {name, style, thinned, points, means}: points are
//             [step, value]; means, also [step, value], are there only if points were thinned
//             (curve.h)
//   attempts  a list of {attempt, step}: for each start of the run but the first, its first step
//   timeline  {steps, steps_left_out, ranks_left_out}: steps is a list of {step, parts}; parts is
//             a list of {name: "measured" or "predicted", ranks}; ranks is a list of {name, boxes};
//             a box is [instruction, start, length, bytes in use (if known)], with times in ms from
//             the beginning of the step
//   summary   the content of summary.json
//   facts     {state, attempts, steps, loss, ...}
//
// The script does not need the last two, which are there for other programs.
[[nodiscard]] std::string page_data_json(const RunFiles& files, const RunFacts& facts);

}  // namespace penstock
