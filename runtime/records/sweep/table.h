// runtime/records/sweep/table.h -- writes the results of a sweep as tables: CSV for programs,
// Markdown for people. docs/sweep.md explains the columns. A new column is a row of one of the
// functions ..._columns() in table.cpp: the settled and measured ones are table.csv's, the others
// table.md's and those of the forecast.
#pragma once

#include <string>
#include <vector>

#include "runtime/records/sweep/scaling.h"

namespace penstock {

// table.csv: a line with the names of the columns, then a line for each row (RFC 4180). The columns
// up to `loss` do not depend on the machine or on interruptions; those after it are measured. An
// unknown value is empty. Numbers have enough digits to read back to the same bits.
[[nodiscard]] std::string table_csv(const std::vector<ScalingRow>& rows);

// table.md: the table with aligned columns, so that it can be read on a terminal, too; below it,
// why points were skipped or failed, and with which point each speed-up compares.
[[nodiscard]] std::string table_markdown(const std::vector<ScalingRow>& rows);

// What a sweep prints before it begins: a line for every point, "k2-d1-m8-1f1b: step 14.2 ms
// planned, 12.3 MiB a rank", or why it is skipped; then how long the points that are left will
// take.
[[nodiscard]] std::string forecast_markdown(const std::vector<ScalingRow>& rows);

}  // namespace penstock
