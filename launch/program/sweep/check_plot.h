// launch/program/sweep/check_plot.h -- check_plot(): refuses a section [plot] that the points of
// the sweep cannot be drawn by.
#pragma once

#include "launch/program/sweep/file/sweep_file.h"
#include "runtime/records/sweep/record.h"

namespace penstock {

// Throws Error(Input) naming file and line where a key of [plot] does not vary, x is no number or,
// on a logarithmic axis, not above 0, or there are more series than a plot tells apart.
void check_plot(const SweepFile& sweep, const SweepRecord& record);

}  // namespace penstock
