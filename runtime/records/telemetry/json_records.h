// runtime/records/telemetry/json_records.h -- writes records as JSON: lines of metrics.jsonl, and
// summary.json. The keys are a contract (docs/output.md). Floats read back to the same bits; NaN
// and infinities, which JSON lacks, become null.
#pragma once

#include <string>

#include "runtime/records/telemetry/records.h"

namespace penstock {

// One line, without its end. `tokens`: also write tokens_per_s.
[[nodiscard]] std::string json_line(const StepRecord& record, bool tokens);
[[nodiscard]] std::string json_line(const EvalRecord& record);
[[nodiscard]] std::string json_text(const RunSummary& summary);  // indented

}  // namespace penstock
