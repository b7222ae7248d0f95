// runtime/records/telemetry/closing_table.h -- what a run prints last: who held what, how fast it
// went, and how much of the bubble the theory predicts was there.
#pragma once

#include <string>

#include "runtime/records/telemetry/records.h"

namespace penstock {

// Several lines, without the last line's end.
[[nodiscard]] std::string closing_table(const RunSummary& summary);

}  // namespace penstock
