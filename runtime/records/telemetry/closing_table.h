// runtime/records/telemetry/closing_table.h -- closing_table(): the table that a run prints at its
// end: what each rank held and how busy it was, how fast the run was, and the measured bubble
// (waiting time) beside the predicted one.
#pragma once

#include <string>

#include "runtime/records/telemetry/records.h"

namespace penstock {

// Returns several lines of text; the last one has no newline.
[[nodiscard]] std::string closing_table(const RunSummary& summary);

}  // namespace penstock
