// runtime/records/report/page_data.h -- the data of the page as JSON: what its script draws, and
// what other programs read.
#pragma once

#include <string>

#include "runtime/records/report/reading/run_facts.h"
#include "runtime/records/report/reading/run_files.h"

namespace penstock {

// An object with the members
//   curves    [{id, title, unit, steps: how many points it was made from, series: [{name, style,
//             thinned, points: [[step, value]], means (only where thinned): averaged [[step,
//             value]]}]}]
//   attempts  [{attempt, step: its first}], without the first attempt
//   timeline  {steps: [{step, parts: [{name: measured or predicted, ranks: [{name, boxes:
//             [[instruction, start, length, bytes in use where known]]}]}]}], steps_left_out,
//             ranks_left_out}; times in ms since the beginning of their part
//   summary   the content of summary.json
//   facts     {state, attempts, steps, loss, ...}
// The last two are for programs that read the page.
[[nodiscard]] std::string page_data_json(const RunFiles& files, const RunFacts& facts);

}  // namespace penstock
