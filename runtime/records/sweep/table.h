// runtime/records/sweep/table.h -- writes the results of a sweep as a table: CSV for programs,
// Markdown for people. Pure. docs/sweep.md explains the columns.
#pragma once

#include <string>
#include <vector>

#include "runtime/records/sweep/scaling.h"

namespace penstock {

// A line of names and one for each point, in the order of the sweep; RFC 4180. The columns up to
// `loss` are the same however often the sweep was interrupted; then comes what was measured. What
// is not known is empty; numbers read back to the same bits.
[[nodiscard]] std::string table_csv(const std::vector<ScalingRow>& rows);

// The table, with columns aligned so that it reads on a terminal, too; below it why points were
// skipped or failed, and which points the speed-ups compare with.
[[nodiscard]] std::string table_markdown(const std::vector<ScalingRow>& rows);

// "k2-d1-m8-1f1b: step 14.2 ms planned, 12.3 MiB a rank" for every point, what is skipped, and how
// long the rest will take.
[[nodiscard]] std::string forecast_markdown(const std::vector<ScalingRow>& rows);

}  // namespace penstock
