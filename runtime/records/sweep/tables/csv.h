// runtime/records/sweep/tables/csv.h -- writes the results of a sweep as CSV (RFC 4180), for
// programs: a row for each point, or a row for each run. docs/sweep.md explains the columns.
//
// The first line has the names of the columns. Those up to `loss` do not depend on the machine or
// on interruptions; those after it are measured. An unknown value is empty. Numbers have enough
// digits to read back to the same bits. Every key that the grid varies has a column.
#pragma once

#include <string>
#include <vector>

#include "runtime/records/sweep/scaling.h"

namespace penstock {

// table.csv: a row for each point.
[[nodiscard]] std::string table_csv(const std::vector<ScalingRow>& rows);

// runs.csv: a row for each run of each point, with its repeat and its seed. `rows` are those of
// `record`.
[[nodiscard]] std::string runs_csv(const SweepRecord& record, const std::vector<ScalingRow>& rows);

}  // namespace penstock
