// runtime/records/sweep/table.h -- the results of a sweep as a table: CSV for programs, Markdown
// for people. Pure. docs/sweep.md says what the columns are.
#pragma once

#include <string>
#include <vector>

#include "runtime/records/sweep/scaling.h"

namespace penstock {

// One line a point, in the order of the sweep, under a line of names; RFC 4180. First the columns
// that are the same however often the sweep was interrupted, up to `loss`, then what was measured.
// What is not known is empty; numbers read back to the same bits.
[[nodiscard]] std::string table_csv(const std::vector<ScalingRow>& rows);

// Columns as wide as what is in them, so that it reads on a terminal, too; below it why points
// were skipped or failed, and what the speed-ups are against.
[[nodiscard]] std::string table_markdown(const std::vector<ScalingRow>& rows);

// "k2-d1-m8-1f1b: step 14.2 ms planned, 12.3 MiB a rank" of every point, what is skipped, and how
// long the rest will take.
[[nodiscard]] std::string forecast_markdown(const std::vector<ScalingRow>& rows);

}  // namespace penstock
