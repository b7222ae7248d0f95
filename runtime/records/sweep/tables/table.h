// runtime/records/sweep/tables/table.h -- writes the results of a sweep as tables in Markdown, for
// people (csv.h is for programs). docs/sweep.md explains the columns. A new column is a row of one
// of the functions ..._columns() in table.cpp.
#pragma once

#include <string>
#include <vector>

#include "runtime/records/sweep/scaling.h"

namespace penstock {

// Lines of cells; the first line has the names of the columns, of which the first is the point's.
using TableCells = std::vector<std::vector<std::string>>;

// The cells of table.md.
[[nodiscard]] TableCells table_cells(const std::vector<ScalingRow>& rows);
// The sentences below the table.
[[nodiscard]] std::string table_remarks(const std::vector<ScalingRow>& rows);

// table.md: the table with aligned columns, so that it can be read on a terminal, too; below it,
// with which point each speed-up compares, and why points were skipped or failed, each reason once.
[[nodiscard]] std::string table_markdown(const std::vector<ScalingRow>& rows);

// What a sweep prints before it begins: a line for every point, "k2-d1-m8-1f1b: step 14.2 ms
// planned, 12.3 MiB a rank", or why it is skipped; then how long the points that are left will
// take.
[[nodiscard]] std::string forecast_markdown(const std::vector<ScalingRow>& rows);

}  // namespace penstock
