// runtime/records/telemetry/closing_table.h -- the table that a run prints last: what each rank
// held, how fast the run was, and how large the bubble was beside what the theory predicts.
#pragma once

#include <string>

#include "runtime/records/telemetry/records.h"

namespace penstock {

// Several lines, without the last line's end.
[[nodiscard]] std::string closing_table(const RunSummary& summary);

}  // namespace penstock
