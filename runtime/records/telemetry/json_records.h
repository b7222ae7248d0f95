// runtime/records/telemetry/json_records.h -- writes what a run reports (records.h) as JSON: the
// lines of metrics.jsonl and starts.jsonl and the text of summary.json.
//
// Programs of users read these files, so the keys must not change; docs/output.md lists them.
// Floats have enough digits to read back to the same bits. NaN and infinities, which JSON does not
// have, become null.
#pragma once

#include <string>

#include "runtime/records/telemetry/records.h"

namespace penstock {

// A line of starts.jsonl, without its newline.
[[nodiscard]] std::string json_line(const StartRecord& record);
// A line of metrics.jsonl, without its newline. `tokens`: whether to write tokens_per_s, too.
// `expert_rows`: whether to write the rows of every expert beside what they come to.
[[nodiscard]] std::string json_line(const StepRecord& record, bool tokens,
                                    bool expert_rows = false);
[[nodiscard]] std::string json_line(const EvalRecord& record);
// The text of summary.json, indented.
[[nodiscard]] std::string json_text(const RunSummary& summary);

}  // namespace penstock
