// runtime/records/report/page_data.h -- what the page's script draws, as JSON.
#pragma once

#include <string>

#include "runtime/records/report/reading/run_facts.h"
#include "runtime/records/report/reading/run_files.h"

namespace penstock {

// {curves: [{id, title, unit, steps, series: [{name, style, thinned, points: [[step, value]],
// means: of a thinned one}]}], attempts: [{attempt, step: its first} of each but the first],
// timeline: {steps: [{step, parts: [{name, ranks:
// [{name, boxes: [[instruction, start, length]]}]}]}], steps_left_out, ranks_left_out}}; times in
// milliseconds, of a part from its own beginning on. And for programs that read the page: summary,
// the document of that name, and facts: {state, attempts, steps, loss, ...}.
[[nodiscard]] std::string page_data_json(const RunFiles& files, const RunFacts& facts);

}  // namespace penstock
